import { Button, Tabs } from '@mantine/core'
import { useMay } from '../api/me.ts'
import { LeaveDialog } from '../parts/leave-dialog.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { EditorPane } from './editor-pane.tsx'
import { HistoryPane } from './history/history-pane.tsx'
import type { StoredText } from './queries.ts'
import type { SchemaNode } from './schema/schema-node.ts'
import { useDraft } from './use-draft.ts'
import { useReview } from './use-review.ts'
import styles from './agent.module.css'

const tabs = [
  { value: 'form', label: 'Form' },
  { value: 'yaml', label: 'agent.yaml' },
  { value: 'history', label: 'History' },
] as const

/** Form, editor and history of a configuration that is loaded. The draft belongs to both: a restored version is compared with it. */
export function Workspace({ stored, schema }: { stored: StoredText; schema: SchemaNode }) {
  const mayWrite = useMay()('config.write')
  const [{ tab }, setFilter] = useFilters(['tab'])
  const edited = useDraft(stored, schema)
  const review = useReview(edited, schema)
  const current = tabs.find(({ value }) => value === tab)?.value ?? 'form'
  const isHistory = current === 'history'
  const show = (value: string | null) => setFilter('tab', value === 'form' ? undefined : value)
  return (
    <Tabs className={styles.tabs} keepMounted={false} value={current} onChange={show}>
      <LeaveDialog isActive={edited.isChanged}>
        Your changes of the agent are not in effect yet. This browser keeps them as a draft; secrets that you typed are not kept.
      </LeaveDialog>
      <div className={styles.bar}>
        <Tabs.List>
          {tabs.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
              {value === 'yaml' && edited.isChanged && <ChangedMark />}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {mayWrite && !isHistory && (
          <div className={styles.actions}>
            {edited.isChanged && (
              <Button size="xs" variant="subtle" color="gray" onClick={edited.discard}>
                Discard changes
              </Button>
            )}
            <Button
              size="xs"
              variant={review.check ? 'default' : 'filled'}
              disabled={!edited.isChanged || review.check !== undefined}
              loading={review.isChecking}
              onClick={review.runCheck}
            >
              Check
            </Button>
          </div>
        )}
      </div>
      <Tabs.Panel value={current} className={styles.tabs}>
        {isHistory ? (
          <HistoryPane stored={stored} mayRestore={mayWrite} hasDraft={edited.isChanged} />
        ) : (
          <EditorPane
            edited={edited}
            review={review}
            schema={schema}
            mayWrite={mayWrite}
            isForm={current === 'form'}
            onShowText={() => show('yaml')}
          />
        )}
      </Tabs.Panel>
    </Tabs>
  )
}

function ChangedMark() {
  return (
    <span className={styles.changedMark}>
      <span className="visually-hidden"> (not saved)</span>
    </span>
  )
}
