import { JsonView } from '../../parts/json/json-view.tsx'
import { LogText } from '../../parts/log-text.tsx'
import type { Span } from '../queries.ts'
import { Fact, Section } from './fact.tsx'
import styles from './details.module.css'

/** A tool call: its input, output and log. */
export function ToolDetails({ span: { attributes } }: { span: Span }) {
  const { tool, effect, tool_input: input, output, log, artifacts = [], sub_agent: subAgent } = attributes
  return (
    <>
      <dl className={styles.facts}>
        {tool && <Fact name="Tool">{tool}</Fact>}
        {effect && <Fact name="Effect">{effect === 'write' ? 'write: changes something' : 'read'}</Fact>}
        {subAgent && <Fact name="Called by">{subAgent}</Fact>}
        {artifacts.length > 0 && <Fact name="Files">{artifacts.map(({ file_name: name }) => name).join(', ')}</Fact>}
      </dl>
      {input !== undefined && (
        <Section title="Input">
          <JsonView value={input} label="Input" />
        </Section>
      )}
      {output !== undefined && output !== null && (
        <Section title="Output">
          <JsonView value={output} label="Output" />
        </Section>
      )}
      {log && (
        <Section title="Log">
          <LogText text={log} />
        </Section>
      )}
    </>
  )
}
