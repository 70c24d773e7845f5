import { TextInput } from '@mantine/core'
import { SearchIcon, ToolsIcon } from '@primer/octicons-react'
import { useParams } from 'wouter'
import { useTools } from '../api/tools.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { EmptyState, FailedState } from '../parts/states.tsx'
import { ChangedTools } from './changed-tools.tsx'
import { ToolDetails } from './tool-details.tsx'
import { ToolList } from './tool-list.tsx'
import styles from './tools.module.css'

/** The tools of the agent: state and fault of each, its schema, and a form to try it. */
export function ToolsPage() {
  const { name } = useParams<{ name?: string }>()
  const [{ q }, setFilter] = useFilters(['q'])
  const { data: tools, error, refetch } = useTools({ isLive: true })
  const words = (q ?? '').toLowerCase()
  const matching = tools?.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(words)) ?? []
  const selected = tools?.find((tool) => tool.name === name)
  return (
    <>
      <PageHeader title="Tools">What the agent can use. Try each one here without a chat.</PageHeader>
      <ChangedTools />
      <div className={styles.page} data-selected={name !== undefined}>
        <div className={styles.side}>
          <TextInput
            aria-label="Search tools"
            placeholder="Search"
            leftSection={<SearchIcon size={14} />}
            value={q ?? ''}
            onChange={(event) => setFilter('q', event.currentTarget.value)}
          />
          {!tools && !error && <RowsSkeleton />}
          {!tools && error && <FailedState title="The tools could not be loaded" error={error} retry={() => void refetch()} />}
          {tools && <ToolList tools={matching} selected={name} search={q} />}
        </div>
        <div className={styles.main}>
          {selected && <ToolDetails key={selected.name} tool={selected} />}
          {tools && !selected && <NoSelection name={name} count={tools.length} />}
        </div>
      </div>
    </>
  )
}

function NoSelection({ name, count }: { name: string | undefined; count: number }) {
  if (name !== undefined) {
    return (
      <EmptyState icon={ToolsIcon} title="There is no such tool">
        It may have been removed from agent.yaml, or its server may be gone.
      </EmptyState>
    )
  }
  return (
    <EmptyState icon={ToolsIcon} title={count === 0 ? 'The agent has no tools' : 'Choose a tool'}>
      {count === 0 ? (
        <>
          Tools are added in agent.yaml, under <code>tools</code>: built-in ones, MCP servers, OpenAPI services, files of your own.
        </>
      ) : (
        'Its schema, how it has worked so far, and a form to try it appear here.'
      )}
    </EmptyState>
  )
}
