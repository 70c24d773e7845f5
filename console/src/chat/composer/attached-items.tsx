import { CloseButton } from '@mantine/core'
import { FileIcon, FilterIcon } from '@primer/octicons-react'
import type { ReactNode } from 'react'
import type { Attachments } from './use-attachments.ts'
import styles from './composer.module.css'

interface AttachedItemsProps {
  attached: Attachments
  onChange: (part: Partial<Attachments>) => void
}

/** Attachments of the next question, each with a button that removes the attachment. */
export function AttachedItems({ attached: { images, contextFiles, hints }, onChange }: AttachedItemsProps) {
  if (images.length + contextFiles.length + hints.length === 0) return null
  return (
    <ul className={styles.items} aria-label="Attached">
      {images.map(({ name, dataUrl }, index) => (
        <Item key={`i${index}`} label={name} onRemove={() => onChange({ images: images.toSpliced(index, 1) })}>
          <img src={dataUrl} alt="" />
        </Item>
      ))}
      {contextFiles.map(({ path, name }, index) => (
        <Item key={path} label={name} onRemove={() => onChange({ contextFiles: contextFiles.toSpliced(index, 1) })}>
          <FileIcon size={12} />
        </Item>
      ))}
      {hints.map(({ tool_name, filter_key, filter_type, filter_value }, index) => (
        <Item
          key={`h${index}`}
          label={`${tool_name}: ${filter_key} ${filter_type.replace('_', ' ')} ${filter_value}`}
          onRemove={() => onChange({ hints: hints.toSpliced(index, 1) })}
        >
          <FilterIcon size={12} />
        </Item>
      ))}
    </ul>
  )
}

function Item({ label, onRemove, children }: { label: string; onRemove: () => void; children: ReactNode }) {
  return (
    <li className={styles.item} title={label.slice(0, 300)}>
      {children}
      <span>{label}</span>
      <CloseButton size="xs" aria-label={`Remove ${label.slice(0, 80)}`} onClick={onRemove} />
    </li>
  )
}
