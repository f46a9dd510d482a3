import type { CertificateCheck, CertificateView } from '@herald/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { checkCertificate } from '../../api/calls.ts'
import { useAppId } from '../../session/session.ts'

export type CheckState = { busy: boolean; result?: CertificateCheck; error?: unknown }

export const placeOf = ({ provider, environment, region }: CertificateView) =>
  `${provider}/${environment}/${region}`

/** Checks of single certificates and of all of them, with the last answer for each. */
export function useChecks() {
  const appId = useAppId()
  const queries = useQueryClient()
  const [states, setStates] = useState<Readonly<Record<string, CheckState>>>({})
  async function check(certificate: CertificateView): Promise<void> {
    const { provider, environment, region } = certificate
    const place = placeOf(certificate)
    const asked: CheckState = { busy: true }
    // The answer is about credentials that were replaced if the check was forgotten in the meantime.
    const set = (state: CheckState) =>
      setStates((before) => (before[place] === asked ? { ...before, [place]: state } : before))
    setStates((before) => ({ ...before, [place]: asked }))
    try {
      const result = await checkCertificate(appId, { provider, environment, region: region ?? undefined })
      set({ busy: false, result })
    } catch (error) {
      set({ busy: false, error })
    }
  }
  const reload = () => queries.invalidateQueries({ queryKey: ['certificates', appId] })
  return {
    stateOf: (certificate: CertificateView): CheckState => states[placeOf(certificate)] ?? { busy: false },
    /** After the credentials were changed or removed. */
    forget: (certificate: CertificateView) =>
      setStates((before) => ({ ...before, [placeOf(certificate)]: { busy: false } })),
    isBusy: Object.values(states).some(({ busy }) => busy),
    async checkAll(certificates: readonly CertificateView[]) {
      await Promise.all(certificates.map(check))
      await reload()
    },
  }
}
