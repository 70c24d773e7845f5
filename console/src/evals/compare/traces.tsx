import { Fragment, type Ref } from 'react'
import type { AlignedRow } from '../align.ts'
import type { TraceEntry } from '../experiment-queries.ts'
import { CutLine, JsonLine } from '../json-line.tsx'
import styles from '../evals.module.css'

interface TracesProps {
  names: readonly string[]
  rows: readonly AlignedRow[]
  /** Index of the row of the first divergence. */
  divergence: number | undefined
  target: Ref<HTMLTableRowElement>
}

/** Aligned traces in a column each. A line above the first divergence parts what is the same from what is not. */
export function Traces({ names, rows, divergence, target }: TracesProps) {
  if (rows.length === 0) return <p className={styles.body}>There are no traces of this result.</p>
  return (
    <div className={styles.traces} role="region" aria-label="Traces" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ entries, isDifferent }, index) => (
            <Fragment key={index}>
              {index === divergence && (
                <tr ref={target} className={styles.divergence}>
                  <th scope="rowgroup" colSpan={names.length}>
                    First divergence
                  </th>
                </tr>
              )}
              <tr data-different={isDifferent}>
                {entries.map((entry, column) => (
                  <td key={names[column]}>{entry && <Entry entry={entry} />}</td>
                ))}
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Entry({ entry }: { entry: TraceEntry }) {
  const { kind, parent, text = '', tool, tool_input: input, output, status, effect, recorded } = entry
  const place = parent === null ? '' : `, in call ${parent}`
  if (kind === 'reply')
    return (
      <>
        <span className={styles.quiet}>Reply{place}</span>
        <div>{text === '' ? <span className={styles.quiet}>no text</span> : <CutLine text={text} />}</div>
      </>
    )
  return (
    <>
      <span className={styles.callHead}>
        <b className={styles.tool}>{tool}</b>
        {effect === 'write' && <span className={styles.tag}>write</span>}
        {recorded === false && <span className={styles.warn}>not recorded</span>}
        {status !== undefined && status !== 'success' && <span className={styles.warn}>{status}</span>}
        {place !== '' && <span className={styles.quiet}>{place.slice(2)}</span>}
      </span>
      <div>
        <JsonLine value={input} />
      </div>
      {output !== undefined && (
        <div className={styles.quiet}>
          → <JsonLine value={output} />
        </div>
      )}
    </>
  )
}
