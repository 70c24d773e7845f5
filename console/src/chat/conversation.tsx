import { Button } from '@mantine/core'
import { ArrowDownIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { useMay } from '../api/me.ts'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { AnswerItem } from './answer/answer-item.tsx'
import { Composer } from './composer/composer.tsx'
import type { LiveRun } from './live/live-run.ts'
import { QuestionItem } from './question-item.tsx'
import type { Message } from './queries.ts'
import { Starters } from './starters.tsx'
import { useConversation, type ConversationState } from './use-conversation.ts'
import { useStickToEnd } from './use-stick-to-end.ts'
import { WaitingMessages } from './waiting-messages.tsx'
import styles from './conversation.module.css'

/** Messages that are rendered at first, and in addition each time. */
const messagesPerStep = 30

/** A conversation: questions, answers, and the field for the next question. */
export function Conversation({ session }: { session: string | undefined }) {
  const conversation = useConversation(session)
  const { messages, run, status, isPending, error, send } = conversation
  const may = useMay()
  const isEmpty = messages.length === 0 && !run
  const { scroller, isAtEnd, scrollToEnd } = useStickToEnd(isEmpty)
  return (
    <section className={styles.conversation} aria-label="Conversation">
      <div ref={scroller} className={styles.scroller} role="region" aria-label="Messages" tabIndex={0}>
        <div className={styles.column}>
          {isPending && <RowsSkeleton />}
          {error && <FailedState title="The conversation could not be loaded" error={error} retry={conversation.retry} />}
          {isEmpty && !isPending && !error && <Starters onChoose={(text) => send({ text })} />}
          <Messages conversation={conversation} session={session} />
        </div>
      </div>
      <div className={styles.foot}>
        {!isAtEnd && !isEmpty && (
          <Button
            className={styles.jump}
            size="compact-sm"
            radius="xl"
            variant="default"
            leftSection={<ArrowDownIcon />}
            onClick={scrollToEnd}
          >
            Latest
          </Button>
        )}
        {may('chat') && (
          <Composer
            session={session}
            run={status === 'ended' || status === 'refused' ? undefined : run}
            onSend={(question) => {
              send(question)
              scrollToEnd()
            }}
            onSendToRun={async (text, mode) => {
              scrollToEnd()
              await conversation.sendToRun(text, mode)
            }}
          />
        )}
      </div>
    </section>
  )
}

function Messages({ conversation, session }: { conversation: ConversationState; session: string | undefined }) {
  const { run, askAnew, send } = conversation
  const [count, setCount] = useState(messagesPerStep)
  const isOpen = run === undefined || conversation.status === 'ended' || conversation.status === 'refused'
  // What the session has of a run that goes on, the live answer shows.
  const messages = isOpen ? conversation.messages : conversation.messages.slice(0, run.messagesBefore + 1)
  const first = Math.max(0, messages.length - count)
  const isSteered = run !== undefined && messages.some(({ message_id: id }, index) => id !== undefined && index > run.messagesBefore)
  const edit = isOpen && session !== undefined ? askAnew : undefined
  return (
    <>
      {first > 0 && (
        <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setCount(count + messagesPerStep)}>
          Show earlier messages ({first.toLocaleString('en')})
        </Button>
      )}
      {messages.slice(first).map((message, offset) => {
        const index = first + offset
        if (message.role === 'human')
          return (
            <QuestionItem
              key={`q${index}`}
              message={message}
              isUnanswered={isUnanswered(messages, index, run)}
              onAskAnew={edit && ((text) => edit(index, { text }))}
            />
          )
        const requestId = message.response_metadata?.request_id
        const isLive = requestId === run?.requestId && !isSteered
        // The parts of an answer between messages of people have one request id.
        const isEnd = message.response_metadata?.finish_reason !== undefined
        const key = isEnd && requestId ? requestId : `a${index}`
        return <AnswerItem key={key} message={message} run={isLive ? run : undefined} />
      })}
      {run && messages.length <= run.messagesBefore && <QuestionItem key={`q${messages.length}`} message={toMessage(run)} />}
      {run && !hasAnswerOf(messages, run) && (
        <AnswerItem key={run.requestId} run={run} onAskAgain={isOpen ? () => send(run.question) : undefined} />
      )}
      {run && <WaitingMessages run={run} />}
    </>
  )
}

function hasAnswerOf(messages: readonly Message[], run: LiveRun): boolean {
  const last = messages.at(-1)
  return last?.role === 'ai' && last.response_metadata?.request_id === run.requestId
}

/** True if a stored question has no answer and no running run: the run of the question failed. */
function isUnanswered(messages: readonly Message[], index: number, run: LiveRun | undefined): boolean {
  if (messages[index]?.message_id !== undefined) return false
  const next = messages.slice(index + 1).find(({ message_id: id }) => id === undefined)
  return next ? next.role === 'human' : run === undefined || index < run.messagesBefore
}

function toMessage({ question }: LiveRun): Message {
  const images = question.images?.map(({ name }) => ({ name, kind: 'image' }))
  const files = question.contextFiles?.map(({ name }) => ({ name, kind: 'file' }))
  return {
    role: 'human',
    content: question.text,
    timestamp: Date.now() / 1000,
    ...(images && { images }),
    ...(files && { context_files: files }),
  }
}
