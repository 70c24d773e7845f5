import { Skeleton } from '@mantine/core'
import styles from './skeletons.module.css'

/** Placeholder of a page whose chunk or first answer is still loading. */
export function PageSkeleton() {
  return (
    <div className={styles.page} aria-busy="true">
      <span className="visually-hidden" role="status">
        Loading
      </span>
      <Skeleton height={26} width={220} mb="xl" />
      <RowsSkeleton />
    </div>
  )
}

/** In place of the rows of a list. */
export function RowsSkeleton({ count = 6 }: { count?: number }) {
  return (
    <div aria-hidden="true">
      {Array.from({ length: count }, (_, index) => (
        <Skeleton key={index} height={18} mb={18} width={`${92 - ((index * 17) % 40)}%`} />
      ))}
    </div>
  )
}
