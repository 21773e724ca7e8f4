/** What is declared of a route's answers: only the API's description reads it, and no bundle has it. */

import type * as z from "zod/mini";

export interface Answer {
  description: string;
  schema?: z.core.$ZodType;
  /** Of a body that no schema describes; without either there is none. */
  mediaType?: string;
  /** Description by name, of headers beyond those that every answer has. */
  headers?: Record<string, string>;
  /** The same, of headers that not every such answer has. */
  optionalHeaders?: Record<string, string>;
}

/** Those of one route by status; problems are declared by the route itself. */
export type Answers = Readonly<Record<number, Answer>>;
