import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Starts a stand-in on 127.0.0.1 (port 0 = any free one) and returns the port it got. */
export async function listen(
  server: Server,
  options: { port: number; service: string; variable?: string },
): Promise<number> {
  server.listen(options.port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw explain(error, options);
  }
  return (server.address() as AddressInfo).port;
}

/** Stops a server at once: open and keep-alive connections are ended too. */
export async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  // close() alone waits for clients that keep their connection alive, as fetch does.
  server.closeAllConnections();
  await closed;
}

function explain(error: unknown, options: { port: number; service: string; variable?: string }) {
  const code = (error as NodeJS.ErrnoException).code;
  const reason =
    code === "EADDRINUSE" ? "is taken" : code === "EACCES" ? "is not allowed" : undefined;
  if (!reason) return error;
  const advice = options.variable ? ` Set ${options.variable} to another port.` : "";
  return new Error(`Port ${options.port} for ${options.service} ${reason}.${advice}`, {
    cause: error,
  });
}
