/** For Node: what a job file does that opens a connection when it is loaded keeps its process alive. */
export const KEEPS_OPEN = "--import=data:text/javascript,setInterval(()=>{},60000)";
