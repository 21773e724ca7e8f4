/** Something that goes wrong on the way to the database or back. */
export type Fault = (
  | {
      /** The connection breaks before anything is run. */
      action: "refuse";
    }
  | {
      /** Nothing is run, ever; the connection breaks when the fault is cleared. */
      action: "hang";
    }
  | {
      /** Nothing is run; the proxy in front of the database answers with this status. */
      action: "status";
      status: 500 | 503;
    }
  | {
      /** The statements are run, and committed or refused, then the connection breaks. */
      action: "lose-answer";
    }
  | {
      /** Run and answered as ever, but not before the promise is resolved. */
      action: "delay";
      until: Promise<unknown>;
    }
) & {
  /** Strikes only the n-th request from now on (1 = the next one); without it, every request. */
  nth?: number;
  /** Strikes, and counts, only requests in which this holds for the text of a statement. */
  matching?: (sql: string) => boolean;
};

/** A fault that is set, as its test sees it. */
export interface ArmedFault {
  /** Resolves when the first request is struck. */
  struck: Promise<void>;
}

/** Decides for each request whether the fault that is set strikes it. */
export class FaultSwitch {
  #fault: Fault | null = null;
  #requestsSeen = 0;
  #struck = Promise.withResolvers<void>();
  #cleared = Promise.withResolvers<void>();

  /** Sets the fault, or with null none, in place of the one before. */
  set(fault: Fault | null): ArmedFault {
    this.#cleared.resolve();
    this.#fault = fault;
    this.#requestsSeen = 0;
    this.#struck = Promise.withResolvers();
    this.#cleared = Promise.withResolvers();
    return { struck: this.#struck.promise };
  }

  /** The fault that strikes a request with these statements, and when that fault is cleared. */
  strike(statements: { query: string }[]): (Fault & { cleared: Promise<void> }) | undefined {
    const fault = this.#fault;
    if (!fault) return undefined;
    const { matching, nth } = fault;
    if (matching && !statements.some(({ query }) => matching(query))) return undefined;
    this.#requestsSeen++;
    if (nth !== undefined && nth !== this.#requestsSeen) return undefined;
    this.#struck.resolve();
    return { ...fault, cleared: this.#cleared.promise };
  }
}
