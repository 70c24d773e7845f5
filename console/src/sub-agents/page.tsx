import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { DependabotIcon, PlusIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { useMay } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { PageHeader } from '../parts/page-header.tsx'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { EmptyState, FailedState } from '../parts/states.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { useEndSubAgent, useSubAgents, type SubAgent } from './queries.ts'
import { SubAgentCard } from './sub-agent-card.tsx'
import styles from './sub-agents.module.css'

/** The caller's sub-agents: purpose, activity and end of each. */
export function SubAgentsPage() {
  const mayWrite = useMay()('sub_agents.write')
  const [isCreating, creation] = useDisclosure(false)
  const end = useEndSubAgent()
  const [ending, setEnding] = useState<SubAgent>()
  const create = mayWrite && (
    <Button leftSection={<PlusIcon />} onClick={creation.open}>
      New sub-agent
    </Button>
  )
  return (
    <>
      <PageHeader title="Sub-agents" actions={create}>
        Specialists of yours. The agent delegates tasks to them by itself.
      </PageHeader>
      <div className={styles.page}>
        <SubAgentList onEnd={mayWrite ? setEnding : undefined} />
      </div>
      <CreateDialog isOpen={isCreating} onClose={creation.close} />
      <ConfirmDialog item={ending} subject="The sub-agent" verb={['End', 'ended']} mutation={end} onClose={() => setEnding(undefined)}>
        {({ name, status }) => (
          <Text size="sm" lineClamp={4}>
            {name} is removed{status === 'busy' && ', and what it is working on is cancelled'}. It cannot be brought back.
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}

function SubAgentList({ onEnd }: { onEnd: ((subAgent: SubAgent) => void) | undefined }) {
  const { data: subAgents, error, refetch } = useSubAgents()
  if (!subAgents && error) return <FailedState title="The sub-agents could not be loaded" error={error} retry={() => void refetch()} />
  if (!subAgents) return <RowsSkeleton />
  if (subAgents.length === 0) {
    return (
      <EmptyState icon={DependabotIcon} title="There are no sub-agents">
        A sub-agent has an objective and tools of its own. Create one here, or ask the agent in a chat to create one for a task.
      </EmptyState>
    )
  }
  return (
    <ul className={styles.cards}>
      {subAgents.map((subAgent) => (
        <li key={subAgent.id}>
          <SubAgentCard subAgent={subAgent} onEnd={onEnd && (() => onEnd(subAgent))} />
        </li>
      ))}
    </ul>
  )
}
