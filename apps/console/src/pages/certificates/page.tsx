import { Button, Group, Paper, SimpleGrid, Stack } from '@mantine/core'
import { IconCertificate, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { listCertificates } from '../../api/calls.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'
import { useAppId } from '../../session/session.ts'
import { CertificateCard } from './certificate-card.tsx'
import { CertificateDialog, type Editing } from './certificate-dialog.tsx'
import { placeOf, useChecks } from './use-checks.ts'

export const page = { Component: CertificatesPage }

function CertificatesPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const [editing, setEditing] = useState<Editing>()
  const [saved, setSaved] = useState<string>()
  const checks = useChecks()
  const query = useQuery({ queryKey: ['certificates', appId], queryFn: () => listCertificates(appId) })
  const certificates = query.data ?? []
  const open = (next: Editing) => {
    setSaved(undefined)
    setEditing(next)
  }
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => open('new')}>
      {t('certificates.add')}
    </Button>
  )
  return (
    <Stack>
      <PageHeader title={t('nav.certificates')} lead={t('certificates.lead')}>
        {certificates.length > 0 && (
          <Group gap="xs">
            <Button
              variant="default"
              loading={checks.isBusy}
              onClick={() => void checks.checkAll(certificates)}
            >
              {t('certificates.checkAll')}
            </Button>
            {add}
          </Group>
        )}
      </PageHeader>
      {query.isError && <ErrorAlert error={query.error} retry={query.refetch} />}
      {saved && <SuccessAlert>{t('certificates.saved', { name: saved })}</SuccessAlert>}
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
          <CertificateCard
            key={placeOf(certificate)}
            certificate={certificate}
            check={checks.stateOf(certificate)}
            onCheck={() => void checks.checkAll([certificate])}
            onEdit={() => open(certificate)}
            onRemoved={() => checks.forget(certificate)}
          />
        ))}
      </SimpleGrid>
      <CertificateDialog
        editing={editing}
        existing={certificates}
        onEdit={open}
        onSaved={(name, before) => {
          setEditing(undefined)
          setSaved(name)
          if (before) checks.forget(before)
        }}
        onClose={() => setEditing(undefined)}
      />
    </Stack>
  )
}
