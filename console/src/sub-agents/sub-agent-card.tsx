import { Button } from '@mantine/core'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { SubAgent } from './queries.ts'
import styles from './sub-agents.module.css'

/** A sub-agent: purpose, tools and state. */
export function SubAgentCard({ subAgent, onEnd }: { subAgent: SubAgent; onEnd?: (() => void) | undefined }) {
  const { name, description, objective, tools, status, workflow_type: workflow, last_active: lastActive } = subAgent
  return (
    <article className={styles.card} aria-label={name}>
      <header className={styles.head}>
        <h2 className={styles.name}>{name}</h2>
        <StatusBadge status={status} />
      </header>
      {description && <p className={styles.text}>{description}</p>}
      {objective && <p className={styles.objective}>{objective}</p>}
      <ul className={styles.tools} aria-label="Tools">
        {tools.map((tool) => (
          <li key={tool} className={styles.tool}>
            {tool}
          </li>
        ))}
        {tools.length === 0 && <li className={styles.noTools}>No tools: answers from its objective alone</li>}
      </ul>
      <footer className={styles.foot}>
        <span>
          {workflow === 'plan_execute' ? 'Plans first' : 'Reasons step by step'} · last active <Timestamp at={lastActive} />
        </span>
        {onEnd && (
          <Button variant="default" size="compact-sm" onClick={onEnd} aria-label={`End ${name}`}>
            End
          </Button>
        )}
      </footer>
    </article>
  )
}
