import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Proof } from './proofs.ts'

export interface ProofResult {
  name: string
  args: string[]
  /** The exit code; undefined for a proof that was ended by a signal. */
  code: number | undefined
  seconds: number
}

/** Runs proofs one after the other, each to the end, also after a failed proof. The output of the proofs goes to `stdio`. */
export async function runProofs(
  proofs: readonly Proof[],
  { scale, seed, cwd, stdio }: { scale: number; seed: number; cwd: string; stdio: 'inherit' | 'ignore' },
): Promise<ProofResult[]> {
  const results: ProofResult[] = []
  for (const { name, script, argumentsFor } of proofs) {
    const args = argumentsFor(scale, seed)
    const startedAt = performance.now()
    const child = spawn(process.execPath, [script, ...args], { cwd, stdio })
    const [code] = (await once(child, 'exit')) as [number | null]
    results.push({ name, args, code: code ?? undefined, seconds: (performance.now() - startedAt) / 1000 })
  }
  return results
}

/** One line for each proof, and a last line with the whole. */
export function formatReport(results: readonly ProofResult[]): string[] {
  const lines = results.map(({ name, args, code, seconds }) => {
    const outcome = code === 0 ? 'passed' : code === undefined ? 'FAILED (ended by a signal)' : `FAILED (exit code ${code})`
    return `  ${name.padEnd(14)} ${outcome}, ${Math.round(seconds)} s, ${args.join(' ')}`
  })
  const failed = results.filter(({ code }) => code !== 0)
  return [...lines, failed.length === 0 ? 'Every proof passed.' : `${failed.length} of ${results.length} proofs FAILED.`]
}
