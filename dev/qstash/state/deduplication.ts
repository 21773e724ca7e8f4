const windowMs = 10 * 60_000;

/** The deduplication ids of the last ten minutes and the ids their first use was answered with. */
export class Deduplication {
  private readonly byKey = new Map<string, { originalId: string; expiresAt: number }>();

  find(key: string, now: number): string | undefined {
    const entry = this.byKey.get(key);
    return entry && entry.expiresAt > now ? entry.originalId : undefined;
  }

  remember(key: string, originalId: string, now: number): void {
    this.forgetExpired(now);
    this.byKey.delete(key);
    this.byKey.set(key, { originalId, expiresAt: now + windowMs });
  }

  /** All entries live equally long, so the oldest come first. */
  private forgetExpired(now: number): void {
    for (const [key, entry] of this.byKey) {
      if (entry.expiresAt > now) return;
      this.byKey.delete(key);
    }
  }
}
