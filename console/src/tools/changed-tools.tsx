import { Button, Modal } from '@mantine/core'
import { AlertIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { useMay } from '../api/me.ts'
import { messageOf } from '../api/errors.ts'
import { notify } from '../parts/notify.ts'
import { DefinitionChange } from './definition-change.tsx'
import { useAccept, useChangedTools, type ChangedTool } from './queries.ts'
import styles from './tools.module.css'

/** A line for each tool with a changed definition on the server, with the difference and a button to accept. Empty without such tools. */
export function ChangedTools() {
  const tools = useChangedTools().data?.tools ?? []
  const [reviewed, setReviewed] = useState<ChangedTool>()
  if (tools.length === 0 && !reviewed) return null
  return (
    <section className={styles.changed} aria-label="Changed definitions">
      {tools.map((tool) => (
        <div key={tool.name} className={styles.changedRow}>
          <AlertIcon className={styles.warning} />
          <span className={styles.changedText}>
            <b>{tool.name}</b> is not used: its server has changed its definition.
          </span>
          <Button size="compact-sm" variant="default" onClick={() => setReviewed(tool)}>
            Review
          </Button>
        </div>
      ))}
      <ReviewDialog tool={reviewed} onClose={() => setReviewed(undefined)} />
    </section>
  )
}

function ReviewDialog({ tool, onClose }: { tool: ChangedTool | undefined; onClose: () => void }) {
  const mayAccept = useMay()('config.write')
  const accept = useAccept()
  const close = (): void => {
    accept.reset()
    onClose()
  }
  const confirm = (reviewed: ChangedTool): void =>
    accept.mutate(reviewed, {
      onSuccess: () => {
        notify('The definition was accepted. The agent uses the tool within seconds.')
        close()
      },
    })
  return (
    <Modal opened={tool !== undefined} onClose={close} size="xl" title="Changed definition" closeButtonProps={{ 'aria-label': 'Close' }}>
      {tool && (
        <>
          <p className={styles.text}>
            A server that changes what a tool says of itself can try to lead the model astray. Accept the definition only if you expect this
            change.
          </p>
          <DefinitionChange tool={tool} />
          {accept.error && (
            <p role="alert" className={styles.error}>
              {messageOf(accept.error)}
            </p>
          )}
          <div className={styles.dialogEnd}>
            <Button variant="default" onClick={close} data-autofocus>
              Keep it disabled
            </Button>
            {mayAccept && (
              <Button loading={accept.isPending} onClick={() => confirm(tool)}>
                Accept
              </Button>
            )}
          </div>
        </>
      )}
    </Modal>
  )
}
