import type { CertificateView } from '@herald/client'
import { Button, Paper, SimpleGrid, Stack } from '@mantine/core'
import { IconCertificate, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { listCertificates } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { ofApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { CertificateCard } from './certificate-card.tsx'
import { CertificateDialog } from './certificate-dialog.tsx'

export const page = ofApplication(CertificatesPage)

const placeOf = ({ provider, environment }: CertificateView) => `${provider}/${environment}`

function CertificatesPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const [adding, setAdding] = useState(false)
  const query = useQuery({ queryKey: ['certificates', appId], queryFn: () => listCertificates(appId) })
  const certificates = query.data ?? []
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setAdding(true)}>
      {t('certificates.add')}
    </Button>
  )
  return (
    <Stack>
      <PageHead title={t('certificates.title')} lead={t('certificates.lead')}>
        {certificates.length > 0 && add}
      </PageHead>
      {query.isError && <Problem error={query.error} retry={query.refetch} />}
      {query.isPending && <Waiting />}
      {query.isSuccess && certificates.length === 0 && (
        <Paper withBorder>
          <Empty icon={IconCertificate} title={t('certificates.empty')} text={t('certificates.emptyMore')}>
            {add}
          </Empty>
        </Paper>
      )}
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
        {certificates.map((certificate) => (
          <CertificateCard key={placeOf(certificate)} certificate={certificate} />
        ))}
      </SimpleGrid>
      <CertificateDialog opened={adding} known={certificates} onClose={() => setAdding(false)} />
    </Stack>
  )
}
