/** A subscriber of a URL group. */
export interface Endpoint {
  readonly url: string;
  readonly name?: string;
}

/** A URL group ("topic"): publishing to its name reaches every endpoint. */
export interface UrlGroup {
  readonly name: string;
  readonly createdAt: number;
  updatedAt: number;
  endpoints: readonly Endpoint[];
  /** Publish headers that a message to the group gets unless it sets them itself. */
  defaultHeaders: Headers;
}
