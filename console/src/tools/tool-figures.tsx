import type { ReactNode } from 'react'
import { useToolFigures } from '../api/tool-figures.ts'
import { Duration } from '../parts/figures.tsx'
import styles from './tools.module.css'

/** How a tool has worked in the runs of the last 7 days. Nothing where the key may not see metrics. */
export function ToolFigures({ tool }: { tool: string }) {
  const { data } = useToolFigures('7d')
  if (!data) return null
  const figures = data.find((row) => row.tool === tool)
  if (!figures) return <p className={styles.quietFigures}>No run of the last 7 days has called this tool.</p>
  return (
    <dl className={styles.figures}>
      <Figure name="Calls, 7 days">{figures.calls.toLocaleString('en')}</Figure>
      <Figure name="Errors">{figures.errors.toLocaleString('en')}</Figure>
      <Figure name="p50">
        <Duration ms={figures.p50 * 1000} />
      </Figure>
      <Figure name="p95">
        <Duration ms={figures.p95 * 1000} />
      </Figure>
    </dl>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
