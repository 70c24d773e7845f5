import type { KeptText } from './kept-text.ts'

/** The fake beside its port; `kept` is what it holds. */
export function createMemoryText(kept?: string): KeptText & { kept: string | undefined } {
  return {
    place: 'memory',
    kept,
    async load() {
      return this.kept
    },
    async change(next) {
      for (;;) {
        const seen = this.kept
        const text = await next(seen)
        if (this.kept === seen) return (this.kept = text)
      }
    },
  }
}
