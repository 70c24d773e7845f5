import type { PendingCall } from '../../../agent/approval.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import { isOpen, storedEvents } from '../../../runs/parts.ts'
import type { ListedRun, SessionRuns } from '../../../runs/run-list.ts'
import type { RunStore } from '../../../runs/run-store.ts'
import type { PlacedMessage, SessionRecord, SessionStore } from '../../../sessions/session-store.ts'
import { type Interrupt, toInterrupts } from './interrupts.ts'
import { type LangChainMessage, toMessages } from './messages.ts'
import { RunMessages } from './run-messages.ts'

export interface ContentServices {
  sessionStore: Pick<SessionStore, 'messages'>
  sessionRuns: SessionRuns
  runStore: Pick<RunStore, 'find'>
  openCalls: Pick<ApprovalStore, 'ofRun'>
}

/** The messages of a session, and what its waiting run waits for. */
export interface Content {
  stored: readonly PlacedMessage[]
  /** The messages in the form of LangChain, with those of the waiting run. */
  messages: LangChainMessage[]
  /** Numbers of messages in the form of LangChain at the ends of stored messages, from 0; the last number is of all messages. */
  ends: number[]
  interrupts: Interrupt[]
  /** The newest run; undefined for none. */
  run: ListedRun | undefined
}

export async function contentOf(services: ContentServices, { tenant, owner, sessionId, key }: SessionRecord): Promise<Content> {
  const stored = await services.sessionStore.messages(tenant, key)
  const messages: LangChainMessage[] = []
  const ends = [0, ...stored.map((message) => messages.push(...toMessages(message)))]
  const caller = { tenant, owner }
  const { sessionRuns, runStore, openCalls } = services
  const run = (await sessionRuns.newest(caller, sessionId, 'interrupted')) ?? (await sessionRuns.newest(caller, sessionId))
  const waiting = run?.status === 'interrupted' ? await runStore.find(run) : undefined
  if (!waiting) return { stored, messages, ends, interrupts: [], run }
  const progress = new RunMessages(waiting.requestId, new Set(messages.map(({ id }) => id)))
  for (const event of storedEvents(waiting)) progress.take(event)
  if (progress.messages.length > 0) ends.push(messages.push(...progress.messages))
  const open: PendingCall[] = (await openCalls.ofRun(waiting)).filter(isOpen)
  return { stored, messages, ends, interrupts: toInterrupts(open), run }
}
