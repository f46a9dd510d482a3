import { useQuery } from '@tanstack/react-query'
import { readOverview } from './calls.ts'

/** Shared by the overview and the bar of problems: while both are shown there is one call, at the shorter interval. */
export function useOverviewQuery(appId: string | undefined, refetchInterval: number) {
  return useQuery({
    queryKey: ['overview', appId],
    queryFn: () => readOverview(appId),
    refetchInterval,
    staleTime: refetchInterval,
  })
}
