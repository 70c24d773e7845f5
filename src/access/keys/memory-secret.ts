import type { SharedSecret } from './shared-secret.ts'

/** The fake of `SharedSecret`; the text is in `kept`. */
export function createMemorySecret(kept?: string): SharedSecret & { kept: string | undefined } {
  return {
    label: 'memory',
    kept,
    async load() {
      return this.kept
    },
    async change(next) {
      for (;;) {
        const current = this.kept
        const text = await next(current)
        if (this.kept === current) return (this.kept = text)
      }
    },
  }
}
