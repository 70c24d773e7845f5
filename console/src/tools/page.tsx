import { Button, TextInput } from '@mantine/core'
import { SearchIcon, ToolsIcon } from '@primer/octicons-react'
import { Link, useParams } from 'wouter'
import { useMay } from '../api/me.ts'
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
  const isEmpty = tools?.length === 0 && name === undefined
  const words = (q ?? '').toLowerCase()
  const matching = tools?.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(words)) ?? []
  const selected = tools?.find((tool) => tool.name === name)
  return (
    <>
      <PageHeader title="Tools">What the agent can use. Try each one here without a chat.</PageHeader>
      <ChangedTools />
      {isEmpty ? (
        <NoTools />
      ) : (
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
            {tools && !selected && <NoSelection name={name} />}
          </div>
        </div>
      )}
    </>
  )
}

function NoTools() {
  const mayAdd = useMay()('config.write')
  const action = (
    <Button component={Link} href="/agent?tab=yaml" variant="default">
      Add a tool
    </Button>
  )
  return (
    <EmptyState icon={ToolsIcon} title="The agent has no tools" action={mayAdd && action}>
      Tools let the agent calculate, read files and tables, search documents or use your own services.{' '}
      {mayAdd ? 'Add the first one to the agent' : 'An administrator adds them'}; how is in the{' '}
      <a href="../docs/guides/custom-tools">guide to tools</a>.
    </EmptyState>
  )
}

function NoSelection({ name }: { name: string | undefined }) {
  return name === undefined ? (
    <EmptyState icon={ToolsIcon} title="Choose a tool">
      What it needs, how it has worked so far, and a form to try it appear here.
    </EmptyState>
  ) : (
    <EmptyState icon={ToolsIcon} title="There is no such tool">
      The tool was removed from the agent, or the server that offers it does not answer. <Link href="/tools">All tools</Link>
    </EmptyState>
  )
}
