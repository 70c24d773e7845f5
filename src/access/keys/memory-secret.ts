import type { SharedSecret } from './shared-secret.ts'

/** The fake beside its port; `kept` is what it holds. */
export function createMemorySecret(kept?: string): SharedSecret & { kept: string | undefined } {
  return {
    label: 'memory',
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
