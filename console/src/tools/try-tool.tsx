import { Button, Group, SegmentedControl, Text } from '@mantine/core'
import { PlayIcon } from '@primer/octicons-react'
import { useRef, useState, type FormEvent } from 'react'
import { messageOf } from '../api/errors.ts'
import type { Tool } from '../api/tools.ts'
import { JsonField } from '../parts/schema-form/json-field.tsx'
import { initialValue, type FormSchema } from '../parts/schema-form/schema.ts'
import { SchemaForm } from '../parts/schema-form/schema-form.tsx'
import { ExecutionResult } from './execution-result.tsx'
import { HintFields, toHints, type Hint } from './hint-fields.tsx'
import { useExecute } from './queries.ts'
import styles from './tools.module.css'

/** A form made from the tool's schema, or its JSON; the result below. What was typed stays when the result arrives. */
export function TryTool({ tool }: { tool: Tool }) {
  const schema = tool.schema as FormSchema
  const [input, setInput] = useState<unknown>(() => initialValue(schema, schema))
  const [hints, setHints] = useState<readonly Hint[]>([])
  const [form, setForm] = useState('form')
  const [isValid, setValid] = useState(true)
  const execution = useExecute()
  const controller = useRef<AbortController>(undefined)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    controller.current = new AbortController()
    const tool_input = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
    execution.mutate({ body: { tool_name: tool.name, tool_input, ...toHints(tool.name, hints) }, signal: controller.current.signal })
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <SegmentedControl
        aria-label="Form of the input"
        size="xs"
        data={[
          { value: 'form', label: 'Form' },
          { value: 'json', label: 'JSON' },
        ]}
        value={form}
        onChange={(value) => {
          setForm(value)
          setValid(true)
        }}
      />
      {form === 'form' ? (
        <SchemaForm schema={schema} value={input} onChange={setInput} onValidity={setValid} />
      ) : (
        <JsonField label="Input" value={input} onChange={setInput} onValidity={setValid} />
      )}
      <HintFields hints={hints} onChange={setHints} />
      <Group>
        <Button type="submit" leftSection={<PlayIcon />} loading={execution.isPending} disabled={!isValid || tool.status !== 'ready'}>
          Run
        </Button>
        {execution.isPending && (
          <Button variant="default" onClick={() => controller.current?.abort()}>
            Stop
          </Button>
        )}
        {tool.status !== 'ready' && (
          <Text size="sm" c="dimmed">
            The tool is not ready: {tool.status}.
          </Text>
        )}
      </Group>
      {execution.error && !controller.current?.signal.aborted && (
        <p role="alert" className={styles.error}>
          {messageOf(execution.error)}
        </p>
      )}
      {execution.data && <ExecutionResult execution={execution.data} />}
    </form>
  )
}
