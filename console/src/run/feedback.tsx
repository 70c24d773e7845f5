import { ActionIcon, Button, Popover, Stack, Textarea } from '@mantine/core'
import { ThumbsdownIcon, ThumbsupIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { notify, notifyFailure } from '../parts/notify.ts'
import { useRate, type RunKey } from './queries.ts'

/** Rating of an answer: good at once, bad with a comment. The agent retains the feedback as memories. */
export function Feedback({ runKey }: { runKey: RunKey }) {
  const rate = useRate(runKey)
  const [isAsking, setAsking] = useState(false)
  const [comment, setComment] = useState('')
  const send = (score: number) =>
    rate.mutate(
      { score, comment: comment.trim() || undefined },
      {
        onSuccess: () => {
          notify('Thank you. The feedback was stored.')
          setAsking(false)
        },
        onError: (error) => notifyFailure('The feedback could not be stored', error),
      },
    )
  return (
    <>
      <ActionIcon variant="default" size={36} aria-label="Good answer" onClick={() => send(1)} disabled={rate.isPending}>
        <ThumbsupIcon />
      </ActionIcon>
      <Popover opened={isAsking} onChange={setAsking} width={320} position="bottom-end" trapFocus withinPortal>
        <Popover.Target>
          <ActionIcon variant="default" size={36} aria-label="Bad answer" onClick={() => setAsking(!isAsking)}>
            <ThumbsdownIcon />
          </ActionIcon>
        </Popover.Target>
        <Popover.Dropdown>
          <Stack gap="sm">
            <Textarea
              label="What was wrong?"
              autosize
              minRows={2}
              maxRows={8}
              maxLength={4000}
              value={comment}
              onChange={(event) => setComment(event.currentTarget.value)}
            />
            <Button size="sm" loading={rate.isPending} onClick={() => send(-1)}>
              Send
            </Button>
          </Stack>
        </Popover.Dropdown>
      </Popover>
    </>
  )
}
