import type { Chunk } from '../../../client/src/index.ts'
import { outcomeUnknown } from '../../agent/history.ts'
import { fieldsOf } from '../../json/shape.ts'
import { toLine } from '../eval/findings.ts'
import type { Terminal } from '../terminal.ts'
import { type DemoOptions, type DemoService, onStage, type Stage, toConfig } from './stage.ts'

export interface CrashOptions extends DemoOptions {
  twice?: true
}

const question = 'Refund order 1001, it arrived broken.'

/** Kills the service in the middle of a refund. Fails unless the shop has counted one refund. */
export function showCrash(terminal: Terminal, options: CrashOptions): Promise<void> {
  return onStage(terminal, options, async (stage) => {
    const { shop, say, configure, start } = stage
    say('script', 'The model is a script in this command; the service, the kill, the shop and the client are real.')
    await configure(toConfig(shop, options.twice ? { effects: { refund_order: 'read' } } : {}))
    const first = await start()
    const refunded = shop.holdNext()
    const follower = follow(first, stage)
    // A run that fails before the refund has no moment for the kill.
    const isPaid = await Promise.race([refunded.then(() => true), follower.answer.then(() => false)])
    if (isPaid) await killAndStart(first, stage, follower)
    say('answer', await follower.answer)
    const count = shop.paid.length
    say('result', `The shop counted ${count} ${count === 1 ? 'refund' : 'refunds'}.`, { refunds: count })
    if (!options.twice && !options.json) say('', 'Run it again with --twice to see what a plain retry does.')
    return count === 1
  })
}

async function killAndStart(first: DemoService, { shop, say, start }: Stage, follower: Follower): Promise<void> {
  const paidAt = performance.now()
  say('shop', `has paid order ${shop.paid.join(', ')}; its answer is still on the way`, { refunds: shop.paid.length })
  await first.kill()
  const { last } = follower
  say('kill -9', `the service is gone ${ms(paidAt)} ms after the payment; the client has the events up to ${last}`, { last_event: last })
  const startedAt = performance.now()
  await start(Number(new URL(first.url).port))
  say('start', `a new process listens after ${ms(startedAt)} ms`, { start_ms: ms(startedAt) })
}

function ms(since: number): number {
  return Math.round(performance.now() - since)
}

interface Follower {
  /** Number of the last event that the client has. */
  readonly last: number
  answer: Promise<string>
}

/** Asks, and follows the answer on one stream of the client, which reconnects by itself. */
function follow({ client }: DemoService, { say, signal }: Stage): Follower {
  let last = 0
  let isBroken = false
  const onRetry = () => {
    isBroken = true
  }
  const stream = client.stream({ messages: [{ role: 'user', content: question }] }, { signal, retries, onRetry })
  async function read(): Promise<string> {
    let answer = ''
    for await (const chunk of stream) {
      if (isBroken) reportReturn(chunk, say)
      isBroken = false
      last = chunk.number
      report(chunk, say)
      answer = chunk.agent_step === 'answer' ? answer + chunk.token : ''
    }
    return toLine(answer)
  }
  say('ask', question)
  const answer = read()
  // A stopped demonstration fails at its first pending step, so a second failure is dropped.
  answer.catch(() => undefined)
  return {
    get last() {
      return last
    },
    answer,
  }
}

/** A `retrying` chunk has the number of the last event that is still valid. */
function reportReturn({ number, agent_step: label }: Chunk, say: Stage['say']): void {
  const words = label === 'retrying' ? `after event ${number}, and drops what came later` : `with event ${number}`
  say('stream', `the same client goes on ${words}`, { event_number: number })
}

/** Attempts of the client while the second process starts. */
const retries = 100

function report({ step, error }: Chunk, say: Stage['say']): void {
  if (error) say('error', toLine(error.body))
  if (step?.type !== 'tool_call') return
  const isUnknown = step.log.includes(outcomeUnknown)
  const [, name] = step.tool.split('__')
  const output = fieldsOf(step.output)['body'] ?? step.output
  say('tool', `${name}: ${isUnknown ? 'outcome unknown, not repeated' : toLine(JSON.stringify(output))}`, { tool: name, output })
}
