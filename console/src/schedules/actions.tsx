import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { PencilIcon, PlayIcon, SquareIcon, TrashIcon, ZapIcon } from '@primer/octicons-react'
import type { UseMutationResult } from '@tanstack/react-query'
import { useState } from 'react'
import { useMay, useMe } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { notify, notifyFailure } from '../parts/notify.ts'
import { EditDialog } from './dialogs.tsx'
import { useScheduleMutations, type Schedule, type VersionedSchedule } from './queries.ts'

/** Actions on a schedule. Administrators pause and end the schedules of other callers, and never ask in the name of another caller. */
export function Actions({ schedule }: { schedule: VersionedSchedule }) {
  const { status, sub, issuer } = schedule
  const may = useMay()
  const me = useMe().data
  const { pause, resume, trigger, end } = useScheduleMutations()
  const [isEditing, edit] = useDisclosure(false)
  const [ending, setEnding] = useState<Schedule>()
  const isOwn = me?.sub === sub && me.issuer === issuer
  if (!may('schedules.write') || status === 'ended') return null
  const run = (mutation: UseMutationResult<unknown, Error, Schedule>, done: string): void =>
    mutation.mutate(schedule, {
      onSuccess: () => notify(`The schedule was ${done}.`),
      onError: (error) => notifyFailure('Nothing was changed', error),
    })
  const fire = (): void =>
    trigger.mutate(schedule, {
      onSuccess: ({ outcome, reason }) => notify(outcomeTexts[outcome] + (reason === undefined ? '' : ` Reason: ${reason}.`)),
      onError: (error) => notifyFailure('The schedule could not be triggered', error),
    })
  return (
    <>
      {isOwn && may('chat') && (
        <Button variant="default" size="sm" leftSection={<ZapIcon />} loading={trigger.isPending} onClick={fire}>
          Run now
        </Button>
      )}
      {status === 'active' && (
        <Button variant="default" size="sm" leftSection={<SquareIcon />} loading={pause.isPending} onClick={() => run(pause, 'paused')}>
          Pause
        </Button>
      )}
      {status === 'paused' && isOwn && (
        <Button variant="default" size="sm" leftSection={<PlayIcon />} loading={resume.isPending} onClick={() => run(resume, 'resumed')}>
          Resume
        </Button>
      )}
      {isOwn && (
        <Button variant="default" size="sm" leftSection={<PencilIcon />} onClick={edit.open}>
          Edit
        </Button>
      )}
      <Button color="red" variant="light" size="sm" leftSection={<TrashIcon />} onClick={() => setEnding(schedule)}>
        Delete
      </Button>
      <EditDialog schedule={schedule} isOpen={isEditing} onClose={edit.close} />
      <ConfirmDialog item={ending} subject="The schedule" verb={['Delete', 'deleted']} mutation={end} onClose={() => setEnding(undefined)}>
        {({ name }) => (
          <Text size="sm" lineClamp={4}>
            {name} fires no more, and cannot be brought back. A run that has started goes on.
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}

const outcomeTexts = {
  started: 'A run was started.',
  queued: 'A run starts when the run before has ended.',
  skipped: 'No run was started: the run before goes on.',
  refused: 'The run was refused.',
}
