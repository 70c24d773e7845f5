import type { HistoryMessage } from '../../src/runs/run-store.ts'
import type { Clients } from './clients.ts'
import type { Reader } from './reader.ts'
import type { World } from './world.ts'

/** Checks what must hold when every run has ended and every request has its answer. */
export function checkEnd({ store, audit }: World, clients: Clients): void {
  for (const requestId of clients.accepted) if (!store.rowOf(requestId)) audit.fault(`Run ${requestId} was accepted and is not stored.`)
  for (const requestId of clients.cancelled) {
    const status = store.rowOf(requestId)?.status
    if (status !== 'cancelled') audit.fault(`Run ${requestId} was cancelled, and is ${status} at the end.`)
  }
  for (const { requestId, status, session, messageIndex, fence } of store.allRows()) {
    const messages = store.allSessions().find(({ key }) => key === session)!.messages
    // The partial answer of a client that left stays where other runs came before the run was continued.
    // The part of an answer before a message of a person has no finish reason.
    const isOwn = ({ role, data }: HistoryMessage) =>
      role === 'ai' && data?.requestId === requestId && data.finishReason !== undefined && data.finishReason !== 'cancelled'
    const answers = messages.filter(isOwn)
    const questions = messages.filter(({ role, content }) => role === 'human' && content.endsWith(` ${requestId}`))
    if (answers.length > 1) audit.fault(`Run ${requestId} has ${answers.length} answers in its session.`)
    if (questions.length > 1) audit.fault(`Run ${requestId} has ${questions.length} questions in its session.`)
    if (status !== 'success') continue
    const answer = answers[0]
    if (!answer) audit.fault(`Run ${requestId} has ended without an answer in its session.`)
    // A run that failed is continued behind the runs that came meanwhile.
    else if (fence === 1 && messages.slice(messageIndex! + 1, answer.idx).some(({ data }) => data?.requestId !== requestId))
      audit.fault(`The answer of run ${requestId} does not follow its question.`)
  }
  checkMessages(store, audit, clients)
  checkLedger(store, audit)
  for (const reader of clients.readers) checkReader(reader, audit)
}

/** A call has one start in the ledger, and one end behind. */
function checkLedger({ ledger }: World['store'], audit: World['audit']): void {
  const ofCalls = ledger.filter(({ action }) => action.startsWith('tool.'))
  for (const [call, events] of Map.groupBy(ofCalls, ({ data }) => String(data?.['call_id']))) {
    const actions = events.map(({ action }) => action).join()
    if (!/^tool.started,tool.(ended|unknown)$/.test(actions)) audit.fault(`The ledger has ${actions} of call ${call}.`)
  }
}

/** An acknowledged message is in the session of the run once, and behind messages of the same kind with an earlier acknowledgement. */
function checkMessages(store: World['store'], audit: World['audit'], { messages }: Clients): void {
  for (const { requestId, text, mode, position } of messages) {
    const row = store.rowOf(requestId)
    const texts = store
      .allSessions()
      .find(({ key }) => key === row?.session)
      ?.messages.flatMap(({ role, content }) => (role === 'human' ? [content] : []))
    const count = texts?.filter((content) => content === text).length
    if (count !== 1) audit.fault(`The message "${text}" to run ${requestId} is ${count} times in its session.`)
    const earlier = messages.filter((other) => other.requestId === requestId && other.mode === mode && other.position < position)
    const isBehind = earlier.every((other) => texts && texts.indexOf(other.text) < texts.indexOf(text))
    if (!isBehind) audit.fault(`The message "${text}" to run ${requestId} is before an earlier one.`)
  }
}

/** A reader that got the last event has read a log with which the run has ended or was interrupted. */
function checkReader({ requestId, lines, last }: Reader, audit: World['audit']): void {
  const run = audit.runs.get(requestId)
  if (!run || run.logs.length === 0) return
  const isLast = last?.type === 'end' || last?.type === 'interrupt'
  // The end of a reader whose process stops, or lost the run, is the end of the connection only.
  const isOwnEnd = last?.type === 'end' && last.error !== undefined
  const text = lines.slice(0, isOwnEnd ? -1 : undefined)
  const isStored = run.logs.some((log) => isPrefix(text, log) && (!isLast || isOwnEnd || text.length === log.length))
  // Events of an attempt that was cut off are void for readers that have left meanwhile.
  if (!isStored && (isLast || run.fence === 1) && !(isOwnEnd && run.fence > 1))
    audit.fault(`A reader of run ${requestId} has read ${JSON.stringify(lines)}, but stored is ${JSON.stringify(run.logs)}.`)
}

function isPrefix(start: readonly string[], whole: readonly string[]): boolean {
  return start.every((line, index) => whole[index] === line)
}
