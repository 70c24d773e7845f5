import { type Finding, toFinding } from '../eval/findings.ts'
import type { Terminal } from '../terminal.ts'
import { twice } from './shop.ts'
import { type DemoOptions, type DemoService, onStage, type Stage, toConfig } from './stage.ts'

const orders = Array.from({ length: 10 }, (_, index) => 1001 + index)
const dataset = 'refunds'
const instructions = `You refund orders that arrived broken. ${twice}`

/** Replays refunds with instructions that refund twice. Fails unless each second refund is found, and the shop counts no further refund. */
export function showReplay(terminal: Terminal, options: DemoOptions): Promise<void> {
  return onStage(terminal, options, async (stage) => {
    const { shop, say, configure, start } = stage
    say('script', 'The model is a script in this command, which does what the instructions say. All else is real.')
    await configure(toConfig(shop))
    const service = await start()
    await record(service, stage)
    const before = shop.paid.length
    say('recorded', `${orders.length} runs; the shop counted ${before} refunds`, { runs: orders.length, refunds: before })
    say('change', `One more sentence in the instructions: "${twice}"`)
    const { added, findings } = await replay(service, stage)
    for (const { name, writes } of findings) say('proposed', `${name}: ${writes.join(', ')}`, { name, writes })
    const after = shop.paid.length
    say('result', `The change would have made ${added} more refunds. The shop counted ${after - before} of them.`, {
      proposed: added,
      refunds: after,
    })
    return added === orders.length && before === orders.length && after === before
  })
}

/** Asks for the refunds, and makes an example of each run. */
async function record({ client }: DemoService, { signal }: Stage): Promise<void> {
  await client.evals.datasets.create({ name: dataset }, { signal })
  const runs = await Promise.all(
    orders.map((order) => client.chat({ messages: [{ role: 'user', content: `Refund order ${order}, it arrived broken.` }] }, { signal })),
  )
  for (const [index, { request_id: run }] of runs.entries())
    await client.evals.datasets.examples.addRun(dataset, run, { name: `Order ${orders[index]}`, signal })
}

async function replay({ client }: DemoService, { shop, say, signal }: Stage): Promise<{ added: number; findings: Finding[] }> {
  const { experiments } = client.evals
  const candidate = { text: toConfig(shop, { instructions }) }
  const { id } = await experiments.create({ dataset_ids: [dataset], candidate }, { signal })
  const { status, done, effects, error } = await experiments.wait(id, { intervalMs: 100, signal })
  say('replayed', `${done} replays, with the agent as it is and with the change: ${error ?? status}`, { replays: done })
  const { results } = await experiments.results(id, { limit: 100 }, { signal })
  return { added: effects.added, findings: results.map(toFinding).filter(({ writes }) => writes.length > 0) }
}
