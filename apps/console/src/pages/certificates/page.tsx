import type { CertificateView } from '@herald/client'
import { Button, Paper, SimpleGrid, Stack } from '@mantine/core'
import { IconCertificate, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { listCertificates } from '../../api/calls.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { requireApplication } from '../../components/require-application.tsx'
import { useAppId } from '../../session/session.ts'
import { CertificateCard } from './certificate-card.tsx'
import { CertificateDialog } from './certificate-dialog.tsx'

export const page = requireApplication(CertificatesPage)

const keyOf = ({ provider, environment, region }: CertificateView) => `${provider}/${environment}/${region}`

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
      <PageHeader title={t('nav.certificates')} lead={t('certificates.lead')}>
        {certificates.length > 0 && add}
      </PageHeader>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading />}
      {query.isSuccess && certificates.length === 0 && (
        <Paper withBorder>
          <EmptyState
            icon={IconCertificate}
            title={t('certificates.empty')}
            text={t('certificates.emptyMore')}
          >
            {add}
          </EmptyState>
        </Paper>
      )}
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
        {certificates.map((certificate) => (
          <CertificateCard key={keyOf(certificate)} certificate={certificate} />
        ))}
      </SimpleGrid>
      <CertificateDialog opened={adding} existing={certificates} onClose={() => setAdding(false)} />
    </Stack>
  )
}
