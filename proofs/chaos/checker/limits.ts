import { ofKind, type OperationOf } from '../history/operations.ts'
import type { Facts } from './facts.ts'

/** Limits of concurrent runs by caller. */
export type ConcurrencyLimits = ReadonlyMap<string, number>

const minuteMs = 60_000

/**
 * No process accepts more requests of a caller in a minute, or starts more concurrent runs, than the limit. Processes publish their numbers every
 * second, so the sum over all processes is approximate and not checked.
 */
export function checkLimits({ history }: Facts, concurrency: ConcurrencyLimits): string[] {
  return [...checkRates(ofKind(history, 'limited request')), ...checkConcurrency(history, concurrency), ...checkRefusals(history)]
}

/** A client of OpenAI's interface that a budget refuses must not try again at once. */
function checkRefusals(history: Facts['history']): string[] {
  const refused = ofKind(history, 'completion').filter(({ result }) => result === 'fail')
  const wrong = refused.filter(({ error }) => error !== 'insufficient_quota budget_exceeded false')
  return wrong.map(({ client, error }) => `${client}: a completion was refused with ${error}`)
}

function checkRates(requests: readonly OperationOf<'limited request'>[]): string[] {
  const accepted = requests.filter(({ result }) => result === 'ok')
  const groups = Map.groupBy(accepted, ({ args, process }) => `${args.caller} at ${process}`)
  return [...groups].flatMap(([name, group]) => {
    const { limit } = group[0]!.args
    // Each request was counted between its begin and its end: `limit` + 1 requests within a minute are certain from the first begin to the last end.
    const begins = group.map(({ invokedAt }) => invokedAt).toSorted((a, b) => a - b)
    const ends = group.map(({ endedAt }) => endedAt).toSorted((a, b) => a - b)
    const at = begins.findIndex((begin, index) => (ends[index + limit] ?? Infinity) - begin < minuteMs)
    return at === -1 ? [] : [`${name}: more than ${limit} requests within a minute were accepted`]
  })
}

/**
 * A successful run with a single model call was certainly executed during the call, in the process of the chat's answer, unless the chat was
 * sent again: another process answers from what is stored.
 */
function checkConcurrency(history: Facts['history'], limits: ConcurrencyLimits): string[] {
  const calls = Map.groupBy(ofKind(history, 'model call'), ({ args }) => args.requestId)
  const chats = ofKind(history, 'chat')
  const sent = Map.groupBy(chats, ({ args }) => args.requestId)
  const runs = chats.flatMap(({ args, process, reply, tries }) => {
    const [call, ...furtherCalls] = calls.get(args.requestId) ?? []
    const isOnce = tries === undefined && sent.get(args.requestId)!.length === 1
    const isCertain = call && furtherCalls.length === 0 && reply?.finish === 'stop' && isOnce
    return isCertain && limits.has(args.caller) ? [{ name: `${args.caller} at ${process}`, caller: args.caller, call }] : []
  })
  return [...Map.groupBy(runs, ({ name }) => name)].flatMap(([name, group]) => {
    const limit = limits.get(group[0]!.caller)!
    const maxRuns = Math.max(
      ...group.map(({ call }) => group.filter((run) => run.call.invokedAt <= call.invokedAt && run.call.endedAt > call.invokedAt).length),
    )
    return maxRuns > limit ? [`${name}: ${maxRuns} runs at the same time, of ${limit}`] : []
  })
}
