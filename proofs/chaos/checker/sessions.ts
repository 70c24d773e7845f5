import { ofKind, type OperationOf, type SeenMessage } from '../history/operations.ts'
import { endStateOf, mayBeDeleted, type Facts } from './facts.ts'

/**
 * A session only grows: any two reads are prefixes of each other. The last read holds each acknowledged message once, in the order of the
 * client, with the answer. The contract has one exception: a repeated request replaces the partial answer of an abandoned run.
 */
export function checkSessions(facts: Facts): string[] {
  const reads = Map.groupBy(ofKind(facts.history, 'read session'), ({ args }) => args.session)
  return [...reads].flatMap(([session, all]) => {
    const answered = all.filter(({ result }) => result === 'ok')
    return [
      ...comparePrefixes(session, answered, facts),
      ...answered.flatMap((read) => checkRead(read, facts)),
      ...checkLast(session, all, facts),
    ]
  })
}

function comparePrefixes(session: string, reads: readonly OperationOf<'read session'>[], { repeated }: Facts): string[] {
  const sorted = reads.toSorted((a, b) => messagesOf(a).length - messagesOf(b).length)
  return sorted.slice(1).flatMap((longer, index) => {
    const shorter = messagesOf(sorted[index]!)
    const at = shorter.findIndex((message, n) => !isSame(message, messagesOf(longer)[n]!))
    if (at === -1 || (at === shorter.length - 1 && isReplaceable(shorter[at]!, repeated))) return []
    if (at === shorter.length - 1 && isReplaceable(messagesOf(longer)[at]!, repeated) && at === messagesOf(longer).length - 1) return []
    return [`session ${session}: two reads differ in message ${at}: ${show(shorter[at])} and ${show(messagesOf(longer)[at])}`]
  })
}

/** True for the partial answer of a run with a repeat. */
export function isReplaceable({ finish, requestId }: SeenMessage, repeated: ReadonlySet<string>): boolean {
  return finish === 'cancelled' && requestId !== undefined && repeated.has(requestId)
}

/** Each message is known, is there at most once, and follows the client's earlier messages. Each answer follows its message. */
function checkRead(read: OperationOf<'read session'>, facts: Facts): string[] {
  const { chats, repeated } = facts
  const { session } = read.args
  const anomalies: string[] = []
  const seen = new Set<string>()
  const answered = new Set<string>()
  /** The latest message of each client so far. */
  const latest = new Map<string, OperationOf<'chat'>>()
  for (const [index, message] of messagesOf(read).entries()) {
    if (message.role !== 'human') {
      const requestId = message.requestId ?? ''
      const before = messagesOf(read)[index - 1]
      if (repeated.has(requestId)) continue
      if (before?.role !== 'human' || requestOf(before) !== requestId)
        anomalies.push(`session ${session}: the answer of ${requestId} follows ${show(before)}`)
      if (answered.has(requestId)) anomalies.push(`session ${session}: ${requestId} is answered twice`)
      answered.add(requestId)
      continue
    }
    const requestId = requestOf(message)
    const chat = chats.get(requestId)?.[0]
    if (!chat || chat.args.session !== session) anomalies.push(`session ${session} has a message that nobody sent to it: ${show(message)}`)
    if (seen.has(requestId)) anomalies.push(`session ${session} has the message of ${requestId} twice`)
    seen.add(requestId)
    if (!chat) continue
    const previous = latest.get(chat.client)?.args
    if (previous && chat.args.position < previous.position && !isSentAgainBehind(requestId, previous.requestId, facts))
      anomalies.push(`session ${session}: ${requestId} follows a later message of its client`)
    latest.set(chat.client, chat)
  }
  return anomalies
}

/** True for a chat that was given up without an acknowledgement, and sent again after a later chat of the same client. */
function isSentAgainBehind(requestId: string, laterId: string, { chats, acknowledgedAt }: Facts): boolean {
  const since = Math.min(...chats.get(laterId)!.map(({ invokedAt }) => invokedAt))
  const isAcknowledged = (acknowledgedAt.get(requestId) ?? Infinity) < since
  return !isAcknowledged && chats.get(requestId)!.some(({ invokedAt }) => invokedAt > since)
}

function checkLast(session: string, reads: readonly OperationOf<'read session'>[], facts: Facts): string[] {
  const last = reads.find(({ args }) => args.isLast)
  if (!last || mayBeDeleted(facts, session)) return []
  const messages = last.result === 'ok' ? messagesOf(last) : []
  const humans = new Set(messages.filter(({ role }) => role === 'human').map(requestOf))
  const answers = new Set(messages.filter(({ role }) => role === 'ai').map(({ requestId }) => requestId))
  const anomalies: string[] = []
  for (const [requestId, [chat]] of facts.chats) {
    if (chat!.args.session !== session || !facts.acknowledgedAt.has(requestId)) continue
    const state = endStateOf(facts, requestId)
    // A run leaves no message when cancelled in the session queue.
    if (!humans.has(requestId) && state !== 'cancelled')
      anomalies.push(`session ${session} has lost the acknowledged message of ${requestId}`)
    if (state === 'success' && !answers.has(requestId)) anomalies.push(`session ${session} has no answer of ${requestId}, which succeeded`)
  }
  for (const [requestId, sent] of facts.chats)
    if (
      sent[0]!.args.session === session &&
      humans.has(requestId) &&
      sent.every(({ result }) => result === 'fail') &&
      !facts.acknowledgedAt.has(requestId)
    )
      anomalies.push(`session ${session} has the message of ${requestId}, which was refused`)
  return anomalies
}

export function messagesOf({ reply }: OperationOf<'read session'>): readonly SeenMessage[] {
  return reply?.messages ?? []
}

/** The request id of a human message: the first word of the text. */
export function requestOf({ content }: SeenMessage): string {
  return content.split(' ', 1)[0]!
}

function isSame(a: SeenMessage, b: SeenMessage): boolean {
  return a.role === b.role && a.content === b.content && a.requestId === b.requestId && a.finish === b.finish
}

function show(message: SeenMessage | undefined): string {
  return message ? `${message.role} ${JSON.stringify(message.content)}` : 'nothing'
}
