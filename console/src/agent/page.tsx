import { PageHeader } from '../parts/page-header.tsx'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { useSchema, useStoredText } from './queries.ts'
import { Workspace } from './workspace.tsx'
import styles from './agent.module.css'

/** The configuration of the agent: text in an editor, and the history. */
export function AgentPage() {
  const stored = useStoredText()
  const schema = useSchema()
  const failed = [stored, schema].find((query) => query.error && !query.data)
  const retry = (): void => void Promise.all([stored.refetch(), schema.refetch()])
  return (
    <>
      <PageHeader title="Agent">What the agent is told, which models and tools it has, and how far it may go.</PageHeader>
      {stored.data && schema.data ? (
        <Workspace stored={stored.data} schema={schema.data} />
      ) : (
        <div className={styles.state}>
          {failed ? <FailedState title="The configuration could not be loaded" error={failed.error} retry={retry} /> : <RowsSkeleton />}
        </div>
      )}
    </>
  )
}
