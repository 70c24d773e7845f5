/** Characters of the schemas that are kept, together. A compiled schema takes about 35 times the memory of its text. */
const maxCharacters = 1_048_576

/** Compiled schemas that are kept, since callers repeat their schemas. The least recently used give way to new ones. */
export class KeptChecks<T> {
  private readonly entries = new Map<string, { value: T; characters: number }>()
  private total = 0

  /** Undefined for a schema that is not kept. */
  find(key: string): T | undefined {
    const entry = this.entries.get(key)
    if (!entry) return undefined
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.value
  }

  /** `characters`: length of the schema's text. */
  keep(key: string, value: T, characters: number): T {
    this.remove(key)
    this.entries.set(key, { value, characters })
    this.total += characters
    for (const oldest of this.entries.keys()) {
      if (this.total <= maxCharacters) break
      this.remove(oldest)
    }
    return value
  }

  private remove(key: string): void {
    this.total -= this.entries.get(key)?.characters ?? 0
    this.entries.delete(key)
  }
}
