import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFilters } from './pages/use-filters.ts'
import styles from './page-tabs.module.css'

interface PageTab {
  /** Name in the address. */
  value: string
  label: string
  content: ReactNode
}

/** The parts of a page. The open tab is in the address, except for the first. */
export function PageTabs({ tabs }: { tabs: readonly PageTab[] }) {
  const [{ tab }, setFilter] = useFilters(['tab'])
  const first = tabs[0]!
  const current = tabs.find(({ value }) => value === tab) ?? first
  if (tabs.length === 1) return first.content
  return (
    <Tabs
      className={styles.tabs}
      keepMounted={false}
      value={current.value}
      onChange={(value) => setFilter('tab', value === first.value ? undefined : value)}
    >
      <Tabs.List className={styles.list}>
        {tabs.map(({ value, label }) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={current.value} className={styles.panel}>
        {current.content}
      </Tabs.Panel>
    </Tabs>
  )
}
