import pg from "pg";

/** The URL of another database of the same server. */
export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

/** Runs something with a connection of its own, and closes it whatever happens. */
export async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // A lost connection also rejects the query that was under way; unheard, it would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Creates a database, empty or as a copy of the template, and returns its URL. */
export async function createDatabase(
  adminUrl: string,
  name: string,
  options: { template?: string } = {},
): Promise<string> {
  // Copying files takes half as long as the default way of copying, which writes every page to the log.
  const copy = options.template
    ? ` TEMPLATE ${pg.escapeIdentifier(options.template)} STRATEGY FILE_COPY`
    : "";
  await withClient(adminUrl, (client) =>
    client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}${copy}`),
  );
  return databaseUrl(adminUrl, name);
}

/** Drops a database if it is there, with every connection that is still open to it. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) =>
    client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`),
  );
}
