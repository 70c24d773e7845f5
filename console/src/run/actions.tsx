import { Button } from '@mantine/core'
import { CopyIcon, SquareFillIcon } from '@primer/octicons-react'
import { serviceAddress } from '../api/address.ts'
import { useMay, useMe } from '../api/me.ts'
import { AddToDataset } from '../evals/add-to-dataset.tsx'
import { notify, notifyFailure } from '../parts/notify.ts'
import { useCopy } from '../parts/use-copy.ts'
import type { RunSummary } from '../runs/queries.ts'
import { toCurl } from './as-curl.ts'
import { AskAgain } from './ask-again.tsx'
import { Feedback } from './feedback.tsx'
import { hasEnded, useCancel, type Run, type RunKey } from './queries.ts'

interface ActionsProps {
  runKey: RunKey
  run: Run
  summary: RunSummary | undefined
}

/** Actions on a run that the key permits. */
export function Actions({ runKey, run, summary }: ActionsProps) {
  const may = useMay()
  const me = useMe().data
  const clipboard = useCopy()
  const cancel = useCancel(runKey)
  const isOwn = summary !== undefined && summary.issuer === me?.issuer && summary.sub === me.sub
  const question = run.outcome?.input ?? summary?.input ?? undefined
  const cancelRun = () =>
    cancel.mutate(undefined, {
      onSuccess: () => notify('The run was cancelled.'),
      onError: (error) => notifyFailure('The run could not be cancelled', error),
    })
  const copy = () => {
    clipboard.copy(toCurl({ address: serviceAddress, question: question ?? '', operation: summary?.operation ?? 'chain' }))
    notify('The command was copied. Put your key into ACCESS_KEY.')
  }
  return (
    <>
      {isOwn && hasEnded(run) && may('runs.write') && <Feedback runKey={runKey} />}
      {question !== undefined && (
        <Button variant="default" size="sm" leftSection={<CopyIcon />} onClick={copy}>
          {clipboard.copied ? 'Copied' : 'Copy as curl'}
        </Button>
      )}
      {question !== undefined && <AskAgain run={run} question={question} isOwn={isOwn} />}
      <AddToDataset run={runKey} />
      {!hasEnded(run) && may('runs.write') && (
        <Button color="red" variant="light" size="sm" leftSection={<SquareFillIcon />} loading={cancel.isPending} onClick={cancelRun}>
          Cancel
        </Button>
      )}
    </>
  )
}
