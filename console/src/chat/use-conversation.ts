import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { newId } from '../api/ids.ts'
import { createStore, useStore } from '../api/store.ts'
import { ask, attach, currentRun, type LiveRun, type Question, type RunStatus } from './live/live-run.ts'
import { steer, waitingOf, type MessageMode } from './live/sent-messages.ts'
import { forkSession } from './fork.ts'
import { useActiveRun, useSession, type Message } from './queries.ts'

/** The stored messages of a session, the active run, and the actions of the user. */
export interface ConversationState {
  messages: readonly Message[]
  run: LiveRun | undefined
  status: RunStatus | undefined
  isPending: boolean
  error: Error | null
  retry: () => void
  send: (question: Question) => void
  /** Sends a message to the run that goes on; a run that has ended meanwhile makes it a question. */
  sendToRun: (text: string, mode: MessageMode) => Promise<void>
  /** Asks an earlier question anew, with another text, in a copy of the conversation before it. */
  askAnew: (position: number, question: Question) => Promise<void>
}

/** `session` is absent for a new conversation. */
export function useConversation(session: string | undefined): ConversationState {
  const queryClient = useQueryClient()
  const [, navigate] = useLocation()
  const current = useStore(currentRun)
  const run = current?.sessionId === session ? current : undefined
  const status = useStore(run?.status ?? noStatus)
  const isNew = session === undefined
  // A session exists once its first question is stored, which the end of the run tells.
  const isUnstored = run?.messagesBefore === 0 && status !== 'ended'
  const stored = useSession(session ?? '', isNew || isUnstored)
  const active = useActiveRun(session ?? '', !isNew && run === undefined)
  const messages = stored.data?.messages ?? noMessages

  useFollowing(session, run, active.data ?? undefined, stored.data === undefined ? undefined : messages)
  useEffect(() => {
    if (!run || status !== 'ended') return
    const stored = queryClient.invalidateQueries({ queryKey: ['session', session] })
    void stored.then(() => followNext(run, queryClient.getQueryData<{ messages: Message[] }>(['session', session])?.messages))
    void queryClient.invalidateQueries({ queryKey: ['sessions'] })
  }, [run, status, session, queryClient])

  function start(sessionId: string, question: Question, messagesBefore: number) {
    ask(sessionId, question, messagesBefore)
    if (sessionId !== session) navigate(`/chat/${encodeURIComponent(sessionId)}`)
  }
  return {
    messages,
    run,
    status: run && status,
    isPending: !isNew && run === undefined && stored.isPending,
    error: run ? null : stored.error,
    retry: () => void stored.refetch(),
    send: (question) => start(session ?? newId(), question, messages.length),
    async sendToRun(text, mode) {
      if (run && !(await steer(run, text, mode))) start(run.sessionId, { text }, messages.length)
    },
    async askAnew(position, question) {
      start(await forkSession(session!, messages[position]?.message_index ?? position), question, position)
    },
  }
}

/** Follows the run that answers the messages which an ended run has not read. Its request id is the id of the first message. */
function followNext(run: LiveRun, messages: readonly Message[] = []): void {
  const [first, ...others] = waitingOf(run.sent.get(), run.answer.get())
  if (!first || currentRun.get() !== run) return
  const isQuestion = ({ role, content, message_id: id }: Message) => role === 'human' && content === first.text && id === undefined
  const place = messages.findLastIndex((message, index) => index > run.messagesBefore && isQuestion(message))
  attach(run.sessionId, first.id, { text: first.text }, place === -1 ? Math.max(messages.length, run.messagesBefore + 1) : place, others)
}

const noMessages: readonly Message[] = []
const noStatus = createStore<RunStatus>('ended')

/** Follows the run that goes on in the session; stops following the run of another session. */
function useFollowing(
  session: string | undefined,
  run: LiveRun | undefined,
  active: { request_id: string; input: string | null } | undefined,
  messages: readonly Message[] | undefined,
): void {
  useEffect(() => {
    const active = currentRun.get()
    if (active && active.sessionId !== session) {
      active.leave()
      currentRun.set(undefined)
    }
  }, [session])
  useEffect(() => {
    if (session === undefined || run || !active || !messages) return
    // Behind its question, a run has the messages that were sent to it, and the answers before these.
    const asked = messages.findLastIndex(({ role, message_id: id }) => role === 'human' && id === undefined)
    const behind = messages.slice(asked + 1)
    const isStored = asked !== -1 && behind.every((message) => message.message_id ?? message.response_metadata?.finish_reason === undefined)
    const text = isStored ? messages[asked]!.content : (active.input ?? '')
    attach(session, active.request_id, { text }, isStored ? asked : messages.length)
  }, [session, run, active, messages])
}
