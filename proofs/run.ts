import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { formatReport, runProofs } from './run-proofs.ts'
import { proofs, selectProofs } from './proofs.ts'

/** Runs the proofs in turn and prints a common report. The exit code is 1 when a proof has failed. */
const { values, positionals } = parseArgs({
  options: { scale: { type: 'string', default: '1' }, seed: { type: 'string', default: String(Date.now() % 1_000_000) } },
  allowPositionals: true,
})
const scale = Number(values.scale)
const seed = Number(values.seed)
const isKnown = positionals.every((name) => proofs.some((proof) => proof.name === name))
if (!(scale > 0 && scale <= 10 && Number.isSafeInteger(seed) && seed >= 0 && isKnown)) {
  console.error(`Usage: npm run proof -- [--scale 0.01-10] [--seed N] [${proofs.map(({ name }) => name).join(' ')}]`)
  process.exit(2)
}
const cwd = fileURLToPath(new URL('..', import.meta.url))
const results = await runProofs(selectProofs(positionals), { scale, seed, cwd, stdio: 'inherit' })
console.log(`\nProofs, scale ${scale}, seed ${seed}`)
for (const line of formatReport(results)) console.log(line)
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1
