import { Button, Tooltip } from '@mantine/core'
import { CommentDiscussionIcon, RepoForkedIcon } from '@primer/octicons-react'
import { useMutation } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { useMay } from '../api/me.ts'
import { addressOfQuestion } from '../chat/composer/question-of-address.ts'
import { findQuestion, forkSession } from '../chat/fork.ts'
import { notifyFailure } from '../parts/notify.ts'
import type { Run } from './queries.ts'

interface AskAgainProps {
  run: Run
  /** The question, or its beginning. */
  question: string
  isOwn: boolean
}

/** Puts the question of a run into a composer: of a new conversation, or of a copy of the conversation up to the question. */
export function AskAgain({ run, question: start, isOwn }: AskAgainProps) {
  const [, navigate] = useLocation()
  const may = useMay()
  const mayRead = isOwn && may('sessions.read')
  const ask = useMutation({
    mutationFn: async (into: 'new' | 'copy') => {
      if (!mayRead) return addressOfQuestion(start)
      const { question, index } = await findQuestion(run, start)
      const hasCopy = into === 'copy' && index > 0
      return addressOfQuestion(question, hasCopy ? await forkSession(run.session_id, index) : undefined)
    },
    onSuccess: (address) => navigate(address),
    onError: (error) => notifyFailure('The conversation could not be read', error),
  })
  if (!may('chat')) return null
  const button = { variant: 'default', size: 'sm', disabled: ask.isPending }
  return (
    <>
      <Tooltip label="The question in a new conversation">
        <Button {...button} leftSection={<CommentDiscussionIcon />} onClick={() => ask.mutate('new')}>
          Ask again
        </Button>
      </Tooltip>
      {mayRead && may('sessions.write') && (
        <Tooltip label="A copy of the conversation up to this question">
          <Button {...button} leftSection={<RepoForkedIcon />} onClick={() => ask.mutate('copy')}>
            Fork
          </Button>
        </Tooltip>
      )}
    </>
  )
}
