import { ActionIcon, Button, Popover, Textarea, Tooltip } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { PulseIcon, ThumbsdownIcon, ThumbsupIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Cost, Tokens } from '../../parts/figures.tsx'
import { notify, notifyFailure } from '../../parts/notify.ts'
import { outputOf, type Answer } from '../live/answer.ts'
import styles from './answer-item.module.css'

interface AnswerActionsProps {
  answer: Answer
  requestId: string | undefined
  model: string | undefined
}

/** Below an answer: copy, feedback, and what the answer has used. */
export function AnswerActions({ answer, requestId, model }: AnswerActionsProps) {
  const may = useMay()
  const text = outputOf(answer)
  const tokens = answer.usage.filter(({ unit }) => unit === 'tokens').reduce((sum, { usage }) => sum + usage, 0)
  const costs = answer.usage.filter(({ unit }) => unit === 'USD')
  return (
    <div className={styles.actions}>
      {text !== '' && <CopyButton text={text} label="Copy answer" />}
      {requestId !== undefined && may('runs.write') && text !== '' && <Feedback requestId={requestId} />}
      {requestId !== undefined && may('runs.read') && (
        <Tooltip label="See the run">
          <ActionIcon
            component={Link}
            href={`/runs/${encodeURIComponent(requestId)}`}
            variant="subtle"
            color="gray"
            aria-label="See the run"
          >
            <PulseIcon />
          </ActionIcon>
        </Tooltip>
      )}
      <span className={styles.figures}>
        {model && <span>{model.slice(0, 60)}</span>}
        {tokens > 0 && (
          <span>
            <Tokens count={tokens} /> tokens
          </span>
        )}
        {costs.length > 0 && <Cost usd={costs.reduce((sum, { usage }) => sum + usage, 0)} />}
      </span>
    </div>
  )
}

const marks = [
  { score: 1, label: 'Good answer', Icon: ThumbsupIcon },
  { score: -1, label: 'Bad answer', Icon: ThumbsdownIcon },
] as const

function Feedback({ requestId }: { requestId: string }) {
  const [score, setScore] = useState<number>()
  const [isOpen, setIsOpen] = useState(false)
  const [comment, setComment] = useState('')
  const send = useMutation({
    mutationFn: (rating: { score: number; comment?: string }) => client.runs.feedback(requestId, rating),
    onError: (error) => notifyFailure('The feedback could not be sent', error),
  })
  function rate(rating: number) {
    setScore(rating)
    setIsOpen(true)
    send.mutate({ score: rating })
  }
  function addComment() {
    setIsOpen(false)
    if (comment.trim() === '' || score === undefined) return
    send.mutate({ score, comment: comment.trim() }, { onSuccess: () => notify('Thank you. The comment was sent.') })
  }
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="top-start" withArrow trapFocus withRoles={false} width={300}>
      <Popover.Target>
        <span>
          {marks.map(({ score: rating, label, Icon }) => (
            <Tooltip key={rating} label={label}>
              <ActionIcon
                variant={score === rating ? 'light' : 'subtle'}
                color={score === rating ? undefined : 'gray'}
                aria-label={label}
                aria-pressed={score === rating}
                onClick={() => rate(rating)}
              >
                <Icon />
              </ActionIcon>
            </Tooltip>
          ))}
        </span>
      </Popover.Target>
      <Popover.Dropdown>
        <Textarea
          label="What was good or bad about it?"
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
          autosize
          minRows={2}
          maxRows={6}
          maxLength={4000}
        />
        <Button size="compact-sm" mt="xs" onClick={addComment}>
          {comment.trim() === '' ? 'Close' : 'Send comment'}
        </Button>
      </Popover.Dropdown>
    </Popover>
  )
}
