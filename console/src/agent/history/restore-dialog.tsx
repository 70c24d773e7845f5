import { Button, Group, Modal, Text } from '@mantine/core'
import { messageOf } from '../../api/errors.ts'
import { notify } from '../../parts/notify.ts'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { differencesOf } from '../difference.ts'
import { DifferenceList } from '../difference-list.tsx'
import { GateNotice, refusalOf } from '../gate-notice.tsx'
import { useRestore, useRestoreCheck, useVersionText, type StoredText, type Update, type Version } from '../queries.ts'
import { Warnings } from '../warnings.tsx'
import styles from '../agent.module.css'
import { ChangedPaths } from './changed-paths.tsx'

interface RestoreDialogProps {
  version: Version | undefined
  /** The text and the version in use. */
  current: StoredText
  hasDraft: boolean
  onClose: () => void
}

/** Says what the restoration of a version would change, and restores after confirmation. Closed without a version. */
export function RestoreDialog({ version, current, hasDraft, onClose }: RestoreDialogProps) {
  const check = useRestoreCheck(version?.version)
  const text = useVersionText(version?.version)
  const restore = useRestore()
  const close = (): void => {
    restore.reset()
    onClose()
  }
  const confirm = ({ version }: Version, override?: string): void =>
    restore.mutate(
      { version, current: current.version, override },
      {
        onSuccess: ({ message }) => {
          notify(message)
          close()
        },
      },
    )
  const error = restore.error ?? check.error
  const refusal = refusalOf(restore.error)
  return (
    <Modal
      opened={version !== undefined}
      onClose={close}
      title="Restore this version?"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {version && (
        <>
          <Text size="sm" mb="sm">
            The text of <Timestamp at={version.at} isExact /> (by {version.by}) replaces the stored one, its secrets included. The present
            version stays in the history.
            {hasDraft && ' Your draft stays, and is compared with the restored text.'}
          </Text>
          {check.isPending && <RowsSkeleton count={3} />}
          {check.data && <Effect check={check.data} before={current.text} after={text.data} />}
          {refusal && <GateNotice refusal={refusal} version={version.version} onOverride={(reason) => confirm(version, reason)} />}
          {error && !refusal && (
            <p role="alert" className={styles.error}>
              {messageOf(error)}
            </p>
          )}
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={close} data-autofocus>
              Cancel
            </Button>
            <Button disabled={!check.data} loading={restore.isPending} onClick={() => confirm(version)}>
              Restore
            </Button>
          </Group>
        </>
      )}
    </Modal>
  )
}

interface EffectProps {
  check: Update
  before: string
  /** Absent before the text is loaded, and where the text cannot be read. */
  after: string | undefined
}

/** Changes of the restoration: values if both texts are present, otherwise the names of the fields. */
function Effect({ check: { diff, warnings }, before, after }: EffectProps) {
  const differences = after === undefined ? undefined : differencesOf(before, after)
  return (
    <>
      <h3 className={styles.subtitle}>{diff.length === 0 ? 'No setting changes' : 'These settings change'}</h3>
      {differences && differences.length > 0 ? (
        <DifferenceList differences={differences} label="Changes of the restoration" />
      ) : (
        <ChangedPaths diff={diff} limit={100} />
      )}
      <Warnings warnings={warnings} />
    </>
  )
}
