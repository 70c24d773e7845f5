import { Button, Group, Modal, Text } from '@mantine/core'
import { AlertIcon } from '@primer/octicons-react'
import { messageOf } from '../../api/errors.ts'
import { notify } from '../../parts/notify.ts'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { useRestore, useRestoreCheck, type Update, type Version } from '../queries.ts'
import styles from '../agent.module.css'

interface RestoreDialogProps {
  version: Version | undefined
  /** The version in use. */
  current: string
  hasDraft: boolean
  onClose: () => void
}

/** Says what the restoration of a version would change, and restores after confirmation. Closed without a version. */
export function RestoreDialog({ version, current, hasDraft, onClose }: RestoreDialogProps) {
  const check = useRestoreCheck(version?.version)
  const restore = useRestore()
  const close = (): void => {
    restore.reset()
    onClose()
  }
  const confirm = ({ version }: Version): void =>
    restore.mutate(
      { version, current },
      {
        onSuccess: ({ message }) => {
          notify(message)
          close()
        },
      },
    )
  const error = restore.error ?? check.error
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
          {check.data && <Effect check={check.data} />}
          {error && (
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

function Effect({ check: { diff, warnings } }: { check: Update }) {
  return (
    <>
      <h3 className={styles.subtitle}>{diff.length === 0 ? 'No setting changes' : 'These settings change'}</h3>
      <p className={styles.paths}>
        {diff.slice(0, 100).map((path) => (
          <code key={path}>{path || 'everything'}</code>
        ))}
      </p>
      <ul className={styles.plainList} aria-label="Warnings">
        {warnings.map((warning, index) => (
          <li key={index} className={styles.warning}>
            <AlertIcon className={styles.warnIcon} />
            <span>{warning}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
