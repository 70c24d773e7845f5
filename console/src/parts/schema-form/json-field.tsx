import { Textarea } from '@mantine/core'
import { useState, type ReactNode } from 'react'

interface JsonFieldProps {
  label: string
  description?: ReactNode
  required?: boolean | undefined
  disabled?: boolean
  value: unknown
  onChange: (value: unknown) => void
  onValidity?: ((isValid: boolean) => void) | undefined
}

/** A value as JSON text. A text that cannot be parsed is kept and marked, and changes nothing. */
export function JsonField({ value, onChange, onValidity, ...field }: JsonFieldProps) {
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const [fault, setFault] = useState<string>()
  function change(changed: string) {
    setText(changed)
    try {
      onChange(changed.trim() === '' ? undefined : JSON.parse(changed))
      setFault(undefined)
      onValidity?.(true)
    } catch (error) {
      setFault(`Not valid JSON: ${(error as Error).message}`)
      onValidity?.(false)
    }
  }
  return (
    <Textarea
      {...field}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
      error={fault}
      autosize
      minRows={2}
      maxRows={16}
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
    />
  )
}
