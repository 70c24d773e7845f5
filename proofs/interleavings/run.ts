import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Batch, Share } from './worker.ts'

/**
 * Executes many schedules of simulated processes, and prints what was explored. The exit code is 1 when a schedule broke an invariant; the
 * smallest such schedule is printed, to be kept in `counterexamples.ts`.
 */
const { values: options } = parseArgs({
  options: {
    schedules: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    threads: { type: 'string', default: '1' },
    budgets: { type: 'string', default: 'half' },
  },
})
const schedules = Number(options.schedules)
const seed = Number(options.seed)
const threads = Number(options.threads)
const budgets = options.budgets === 'all' ? 'all' : 'half'
if (
  ![schedules, seed, threads].every(Number.isSafeInteger) ||
  schedules < 1 ||
  schedules > 100_000_000 ||
  threads < 1 ||
  threads > 64 ||
  budgets !== options.budgets
) {
  console.error('Usage: npm run interleavings -- [--schedules 1-100000000] [--seed N] [--threads 1-64] [--budgets half|all]')
  process.exit(2)
}
const schedulesPerBatch = Math.min(1000, schedules)
const seeds = Array.from({ length: Math.ceil(schedules / schedulesPerBatch) }, (_, batch) => seed + batch)

console.log(
  `${seeds.length * schedulesPerBatch} schedules in ${threads === 1 ? '1 thread' : `${threads} threads`}, seed ${seed}${budgets === 'all' ? ', all with budgets' : ''}.`,
)
const startedAt = performance.now()
const batches: Batch[] = []
await Promise.all(Array.from({ length: threads }, (_, thread) => exploreShare(seeds.filter((_seed, index) => index % threads === thread))))
report((performance.now() - startedAt) / 1000)

async function exploreShare(seeds: number[]): Promise<void> {
  if (seeds.length === 0) return
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: { seeds, schedulesPerBatch, budgets } satisfies Share })
  worker.on('message', (batch: Batch) => {
    batches.push(batch)
    if (batches.length % 10 === 0) console.log(`  ${batches.length * schedulesPerBatch} schedules`)
  })
  await once(worker, 'exit')
}

function report(seconds: number): void {
  const sum = (count: (batch: Batch) => number) => batches.reduce((total, batch) => total + count(batch), 0)
  const explored = sum((batch) => batch.schedules)
  const states = new Map<string, number>()
  for (const batch of batches) for (const [name, count] of batch.states) states.set(name, (states.get(name) ?? 0) + count)
  console.log(
    `  explored  ${explored} schedules with ${sum((batch) => batch.tasks)} tasks in ${seconds.toFixed(0)} s, ${Math.round(explored / seconds)} a second`,
  )
  console.log(
    `  reached   ${states.size} rare states: ${[...states]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  )
  console.log(`  memory    ${Math.round(process.resourceUsage().maxRSS / 1024)} MB at most`)
  const failed = batches.filter(({ counterexample }) => counterexample)
  for (const { seed: batchSeed, counterexample } of failed) {
    console.log(`\nFAULT, seed ${batchSeed}:\n  ${counterexample!.faults.join('\n  ')}\n  ${counterexample!.labels.join('\n  ')}`)
    console.log(JSON.stringify(counterexample!.plan))
  }
  if (failed.length === 0) console.log('\nNo schedule broke an invariant.')
  process.exitCode = failed.length > 0 || batches.length < seeds.length ? 1 : 0
}
