import { BudgetExceededError } from '../../../client/src/index.ts'
import type { Terminal } from '../terminal.ts'
import { replyTokens } from './shop.ts'
import { type DemoOptions, type DemoService, onStage, type Stage, toConfig } from './stage.ts'

const limitUsd = 0.01
const budgets = [{ name: 'cent', scope: 'service', window: 'month', limit: { usd: limitUsd } }]
const chats = 50
/** USD per million tokens. */
const prices = { input: 2, output: 5 }
/** Model calls without a reply at the kill. */
const openCalls = 3

/** Asks fifty times at once with a budget of one cent, and kills the service meanwhile. Fails if the bill of the model or the budget passes the cent. */
export function showBudget(terminal: Terminal, options: DemoOptions): Promise<void> {
  return onStage(terminal, options, async (stage) => {
    const { shop, say, configure, start } = stage
    say('script', 'The model is a script in this command, which counts its calls; the service, the kill and the client are real.')
    await configure(toConfig(shop, { budgets, prices, maxOutputTokens: replyTokens }))
    const first = await start()
    say('budget', 'one cent for the whole service', { limit_usd: limitUsd })
    const callsOpen = shop.holdReplies(openCalls)
    const { firstAnswer, answers } = askAll(first, stage)
    await Promise.race([Promise.all([callsOpen, firstAnswer]), answers])
    const second = await killAndStart(first, stage)
    const counts = await answers
    say('answers', `${counts.answered} chats were answered, ${counts.refused} were refused: the budget is used up`, counts)
    const { budgets: windows } = await second.client.budgets.list({ name: 'cent' }, { signal: stage.signal })
    const spentUsd = windows[0]?.spent.usd ?? 0
    say('spent', `${toUsd(spentUsd)}, which includes the most that the calls of the killed process may have cost`, { spent_usd: spentUsd })
    const billUsd = (shop.bill.input * prices.input + shop.bill.output * prices.output) / 1_000_000
    say('result', `The model was called ${shop.bill.calls} times, for ${toUsd(billUsd)} of ${toUsd(limitUsd)}.`, { bill_usd: billUsd })
    return counts.answered > 0 && counts.answered + counts.refused === chats && billUsd <= spentUsd && spentUsd <= limitUsd
  })
}

interface Asked {
  firstAnswer: Promise<unknown>
  answers: Promise<{ answered: number; refused: number }>
}

/** Asks all at once. A chat whose process is killed is asked again by the client, under the same request id. */
function askAll({ client }: DemoService, { say, signal }: Stage): Asked {
  say('ask', `${chats} chats at once`, { chats })
  const ask = () => client.chat({ messages: [{ role: 'user', content: 'What is the time?' }] }, { signal, retries: 100 })
  const all = Array.from({ length: chats }, ask)
  const answers = countAnswers(all)
  // A stopped demonstration fails at its first pending step, so a second failure is dropped.
  answers.catch(() => undefined)
  return { firstAnswer: Promise.any(all), answers }
}

async function countAnswers(all: Promise<unknown>[]): Promise<{ answered: number; refused: number }> {
  const results = await Promise.allSettled(all)
  const failures = results.filter((result) => result.status === 'rejected')
  for (const { reason } of failures) if (!(reason instanceof BudgetExceededError)) throw reason
  return { answered: chats - failures.length, refused: failures.length }
}

async function killAndStart(service: DemoService, { shop, say, start }: Stage): Promise<DemoService> {
  await service.kill()
  say('kill -9', `the service is gone, and ${openCalls} of ${shop.bill.calls} model calls have no answer`, { model_calls: shop.bill.calls })
  const next = await start(Number(new URL(service.url).port))
  say('start', 'a new process listens; the client repeats the chats that have no answer')
  return next
}

function toUsd(amount: number): string {
  return `${amount.toFixed(4)} USD`
}
