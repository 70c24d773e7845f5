import { Tabs } from '@mantine/core'
import { Link } from 'wouter'
import type { Tool } from '../api/tools.ts'
import { useMay } from '../api/me.ts'
import { useFilters } from '../parts/pages/use-filters.ts'
import { JsonView } from '../parts/json/json-view.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { ToolFigures } from './tool-figures.tsx'
import { TryTool } from './try-tool.tsx'
import styles from './tools.module.css'

/** A tool: description, state, a form to run the tool, and the schema. */
export function ToolDetails({ tool }: { tool: Tool }) {
  const may = useMay()
  const [{ tab }, setFilter] = useFilters(['tab'])
  const mayTry = may('tools.execute')
  return (
    <section aria-label={tool.name}>
      <Link href="/tools" className={styles.back}>
        All tools
      </Link>
      <div className={styles.head}>
        <h2 className={styles.title}>{tool.name}</h2>
        <StatusBadge status={tool.status} />
      </div>
      <p className={styles.text}>{tool.description.slice(0, maxDescription)}</p>
      <ToolFigures tool={tool.name} />
      <Tabs value={tab ?? (mayTry ? 'try' : 'schema')} onChange={(value) => setFilter('tab', value)} keepMounted={false}>
        <Tabs.List mb="md">
          {mayTry && <Tabs.Tab value="try">Try it</Tabs.Tab>}
          <Tabs.Tab value="schema">Schema</Tabs.Tab>
        </Tabs.List>
        {mayTry && (
          <Tabs.Panel value="try">
            <TryTool tool={tool} />
          </Tabs.Panel>
        )}
        <Tabs.Panel value="schema">
          <JsonView value={tool.schema} label="Schema" />
        </Tabs.Panel>
      </Tabs>
    </section>
  )
}

/** A server may describe its tool with a book. */
const maxDescription = 4_000
