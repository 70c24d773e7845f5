import { browserZone } from './draft.ts'
import { faultOf } from './fields.ts'
import { usePreview } from './queries.ts'
import styles from './schedules.module.css'

const notes = {
  moved_by_dst: 'The clocks are put forward: this time does not exist, so the run starts right after.',
  second_of_two_skipped: 'The clocks are put back: this time comes twice, and the run starts the first time.',
}

const dateAndTime = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' } as const

function formatIn(at: string, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { ...dateAndTime, timeZone }).format(new Date(at))
}

/** The next times of a pattern, in the zone of the schedule and in the zone of the browser. */
export function NextTimes({ cron, timezone }: { cron: string | undefined; timezone: string }) {
  const preview = usePreview(cron, timezone)
  if (cron === undefined) return null
  const isElsewhere = timezone !== browserZone
  return (
    <section aria-label="Next times" aria-live="polite" aria-busy={preview.isFetching} className={styles.times}>
      {preview.error ? (
        <p className={styles.error}>{faultOf(preview.error)}</p>
      ) : (
        <table>
          <caption>Next times</caption>
          <thead>
            <tr>
              <th scope="col">{timezone}</th>
              {isElsewhere && <th scope="col">{browserZone} (yours)</th>}
            </tr>
          </thead>
          <tbody>
            {preview.data?.map(({ at, note }) => (
              <tr key={at}>
                <td>
                  {formatIn(at, timezone)}
                  {note && <span className={styles.note}>{notes[note]}</span>}
                </td>
                {isElsewhere && <td className={styles.quiet}>{formatIn(at, browserZone)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
