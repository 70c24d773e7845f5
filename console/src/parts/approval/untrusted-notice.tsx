import { Text } from '@mantine/core'
import { AlertIcon } from '@primer/octicons-react'
import styles from './call-decision.module.css'

/** A tool, or another way, by which text of strangers reached the model. */
export interface Source {
  tool: string
  tool_call_id: string | null
  host?: string | undefined
}

const others: Readonly<Record<string, string>> = {
  summary: 'the summary of the conversation',
  memory: 'memories',
  upload: 'attached files',
  unknown: 'an unknown source',
}

/** Why containment holds a call: the model was shown text that strangers can write, which may have asked for the call. */
export function UntrustedNotice({ sources }: { sources: readonly Source[] }) {
  const names = new Set(sources.map(nameOf))
  return (
    <div className={styles.untrusted}>
      <AlertIcon className={styles.untrustedIcon} />
      <Text size="sm">
        The agent has read text that strangers can write, and this call may follow from the text. Check the input. Sources:{' '}
        {[...names].map((name, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <b>{name}</b>
          </span>
        ))}
        .
      </Text>
    </div>
  )
}

/** A source without a call is no tool. */
function nameOf({ tool, tool_call_id: id, host }: Source): string {
  const name = (id === null && others[tool]) || tool.slice(0, 200)
  return host === undefined ? name : `${name} (${host.slice(0, 200)})`
}
