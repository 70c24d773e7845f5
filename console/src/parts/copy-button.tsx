import { ActionIcon, Tooltip } from '@mantine/core'
import { CheckIcon, CopyIcon } from '@primer/octicons-react'
import { useCopy } from './use-copy.ts'

/** Copies a text. `text` may be a function, for texts that are long to make. */
export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const clipboard = useCopy()
  return (
    <Tooltip label={clipboard.copied ? 'Copied' : label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={clipboard.copied ? 'Copied' : label}
        onClick={() => clipboard.copy(typeof text === 'string' ? text : text())}
      >
        {clipboard.copied ? <CheckIcon /> : <CopyIcon />}
      </ActionIcon>
    </Tooltip>
  )
}
